import Foundation
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// A server of one connection that pauses before it takes a request's body, and thinks after it.
final class SlowReader: Sendable {
  private let listener: Int32
  private let port: Int

  var url: URL { URL(string: "http://127.0.0.1:\(port)/") ?? URL(fileURLWithPath: "/") }

  /// - Parameters:
  ///   - pause: From the first byte of the request to the first read, in milliseconds.
  ///   - think: From the last byte of the body to the response, in milliseconds.
  init(pause: Int32, think: Int32) throws {
    (listener, port) = try LoopbackSocket.bind(listens: true)
    Thread.detachNewThread { [listener] in Self.serve(listener, pause: pause, think: think) }
  }

  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  // Not before: its number could be that of another test's socket when this server is stopped.
  deinit { close(listener) }

  private static func serve(_ listener: Int32, pause: Int32, think: Int32) {
    let connection = accept(listener, nil, nil)
    guard connection >= 0 else { return }
    defer { close(connection) }
    // The client may be late to send, where its queue is busy.
    var first = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
    poll(&first, 1, -1)
    poll(nil, 0, pause)
    var taken: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    var end: Int?
    while end.map({ taken.count < $0 }) ?? true {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return }
      taken += buffer[..<count]
      if end == nil, let head = taken.firstRange(of: Array("\r\n\r\n".utf8)) {
        let lines = String(decoding: taken[..<head.lowerBound], as: UTF8.self).lowercased()
        let length = lines.firstMatch(of: /content-length: *([0-9]+)/).flatMap { Int($0.1) }
        if lines.contains("100-continue") { reply("HTTP/1.1 100 Continue\r\n\r\n", on: connection) }
        end = head.upperBound + (length ?? 0)
      }
    }
    poll(nil, 0, think)
    reply("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", on: connection)
    // Until the client has closed.
    while recv(connection, &buffer, buffer.count, 0) > 0 {}
  }

  private static func reply(_ text: String, on connection: Int32) {
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }
}
