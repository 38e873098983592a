import Foundation
import SessionTap

/// A connection that sends text and reads until it is closed. It has no deadline: that is the process's.
final class RawConnection: Sendable {
  private let descriptor: Int32

  /// - Throws: ``ExtremeFault`` if nobody listens.
  init(_ address: EndpointAddress) throws {
    if let port = address.port {
      var target = sockaddr_in()
      target.sin_family = sa_family_t(AF_INET)
      target.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
      target.sin_addr.s_addr = inet_addr("127.0.0.1")
      descriptor = try Self.connect(AF_INET, &target)
    } else {
      var target = sockaddr_un()
      target.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &target.sun_path) {
        $0.copyBytes(from: address.description.utf8.prefix($0.count - 1))
      }
      descriptor = try Self.connect(AF_UNIX, &target)
    }
  }

  deinit { close(descriptor) }

  private static func connect<Address>(_ family: Int32, _ address: inout Address) throws -> Int32 {
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    let length = socklen_t(MemoryLayout<Address>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, length) }
    }
    guard result == 0 else {
      close(descriptor)
      throw ExtremeFault("no connection: \(String(cString: strerror(errno)))")
    }
    return descriptor
  }

  /// Sends a request as the last, if there is one, and reads all that comes. On a thread of its own.
  func answer(to request: String?) async -> String {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { [self] in continuation.resume(returning: exchange(request)) }
    }
  }

  private func exchange(_ request: String?) -> String {
    if let request {
      var rest = Array(request.utf8)[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard count > 0 else { break }
        rest = rest.dropFirst(count)
      }
      shutdown(descriptor, Int32(SHUT_WR))
    }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 {
      answer += buffer[..<count]
    }
    return String(decoding: answer, as: UTF8.self)
  }
}
