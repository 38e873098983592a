import Dispatch
import Glibc
import Synchronization

/// A client that sends any bytes it is told to. Every call ends by a deadline, which is far away: it is for what never
/// comes, not for a busy machine. Calls that may wait run on threads of dispatch's, not on those of the tests' tasks.
final class RawClient: Sendable {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private let descriptor: Int32
  private let isClosed = Atomic(false)
  private let queue = DispatchQueue(label: "raw-client")

  convenience init(host: String = "127.0.0.1", port: Int, receiveBuffer: Int32? = nil, deadline: Int = 120)
    throws
  {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
    guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else {
      throw Failure(description: "no address: \(host)")
    }
    try self.init(family: AF_INET, receiveBuffer: receiveBuffer, deadline: deadline) { descriptor in
      withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
  }

  convenience init(path: String) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix(100)) }
    try self.init(family: AF_UNIX, receiveBuffer: nil, deadline: 120) { descriptor in
      withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
    }
  }

  private init(family: Int32, receiveBuffer: Int32?, deadline: Int, connect: (Int32) -> Int32) throws {
    descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw Failure(description: "socket: \(errno)") }
    var limit = timeval(tv_sec: deadline, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    if var receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
    guard connect(descriptor) == 0 else {
      let code = errno
      isClosed.store(true, ordering: .relaxed)
      close(descriptor)
      throw Failure(description: "connect: \(code)")
    }
  }

  deinit {
    if !isClosed.load(ordering: .relaxed) { close(descriptor) }
  }

  func send(_ text: String) {
    let bytes = Array(text.utf8)
    _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  /// Sends all of the bytes, or as many as the other end takes before it closes.
  func sendAll(_ bytes: [UInt8]) async {
    await perform { client in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes {
          Glibc.send(client.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }
  }

  /// Whether a reset has arrived, read or not.
  var hasFailed: Bool {
    var entry = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLERR) != 0
  }

  func endOutput() {
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Closes with a reset. Nothing may be called after it.
  func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    isClosed.store(true, ordering: .relaxed)
    close(descriptor)
  }

  /// Reads until the text has been received as often as said, or the connection has ended.
  func receive(until end: String, times: Int = 1) async -> String {
    await perform { client in
      var text = ""
      while text.split(separator: end, omittingEmptySubsequences: false).count <= times,
        let more = client.receive()
      {
        text += more
      }
      return text
    }
  }

  /// Reads until the connection has ended, by its end or by a reset.
  func receiveAll() async -> (text: String, isReset: Bool) {
    await perform { client in
      var text = ""
      while let more = client.receive() { text += more }
      return (text, errno == ECONNRESET)
    }
  }

  /// Sends a GET and reads its answer, which ends the connection.
  static func get(
    _ path: String, port: Int, method: String = "GET", fields: String = ""
  ) async throws -> String {
    let client = try RawClient(port: port)
    client.send("\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(fields)\r\n")
    return await client.receiveAll().text
  }

  private func perform<Result: Sendable>(_ work: @escaping @Sendable (RawClient) -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: work(self)) }
    }
  }

  private func receive() -> String? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    errno = 0
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }
}
