/// A client that sends any bytes it is told to. Every call ends by a deadline, which is far away: it is for
/// what never comes, not for a busy machine. Calls that may wait run on threads of dispatch's, not on those
/// of the tests' tasks.
package final class RawClient: Sendable {
  package struct Failure: Error, CustomStringConvertible { package var description: String }

  private let descriptor: Int32
  private let isClosed = Atomic(false)
  private let queue = DispatchQueue(label: "raw-client")

  package init(
    host: String = "127.0.0.1", port: Int, receiveBuffer: Int32? = nil, deadline: Int = 120
  ) throws {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
    guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { throw Failure(description: "no \(host)") }
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Failure(description: "socket: \(errno)") }
    // A `timeval`, which an optimised build takes for that of a module that cannot be imported.
    var limit: (time_t, suseconds_t) = (deadline, 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    if var receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) }
    }
    guard result == 0 else {
      let code = errno
      isClosed.store(true, ordering: .relaxed)
      close(descriptor)
      throw Failure(description: "connect: \(String(cString: strerror(code)))")
    }
  }

  /// Connects, and sends a GET.
  package convenience init(
    host: String = "127.0.0.1", port: Int, receiveBuffer: Int32? = nil, asking path: String
  ) throws {
    try self.init(host: host, port: port, receiveBuffer: receiveBuffer)
    send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
  }

  deinit { if !isClosed.load(ordering: .relaxed) { close(descriptor) } }

  // MARK: Sending

  package func send(_ text: String) {
    let bytes = Array(text.utf8)
    _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  /// Sends all of the bytes, or as many as the other end takes before it closes.
  package func sendAll(_ all: [UInt8]) async {
    _ = await perform { LoopbackSocket.send(all, to: $0.descriptor) }
  }

  package func endOutput() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Closes with a reset. Nothing may be called after it.
  package func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    isClosed.store(true, ordering: .relaxed)
    close(descriptor)
  }

  // MARK: Receiving

  /// Whether a reset has arrived, read or not.
  package var hasFailed: Bool {
    var entry = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLERR) != 0
  }

  /// Reads until the text has been received as often as said, or the connection has ended.
  package func receive(until end: String, times: Int = 1) async -> String {
    await perform { client in
      var text = ""
      while text.ranges(of: end).count < times, let more = client.receive() { text += more }
      return text
    }
  }

  /// Reads until the connection has ended, by its end or by a reset.
  package func receiveAll() async -> (text: String, isReset: Bool) {
    await perform { ($0.receiveAllBlocking(), errno == ECONNRESET) }
  }

  private func receiveAllBlocking() -> String {
    var text = ""
    while let more = receive() { text += more }
    return text
  }

  private func receive() -> String? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    errno = 0
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }

  private func perform<Result: Sendable>(_ work: @escaping @Sendable (RawClient) -> Result) async -> Result {
    await withCheckedContinuation { end in queue.async { end.resume(returning: work(self)) } }
  }

  // MARK: Requests

  /// Sends a GET, and reads its answer, which ends the connection.
  package func get(
    _ path: String, method: String = "GET", host: String = "localhost", fields: String = ""
  ) async -> String {
    await perform { $0.getBlocking(path, method: method, host: host, fields: fields) }
  }

  /// The same on this thread.
  package func getBlocking(
    _ path: String, method: String = "GET", host: String = "localhost", fields: String = ""
  ) -> String {
    send("\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\(fields)\r\n")
    return receiveAllBlocking()
  }

  package static func get(
    _ path: String, port: Int, method: String = "GET", host: String = "localhost", fields: String = ""
  ) async throws -> String {
    try await RawClient(port: port).get(path, method: method, host: host, fields: fields)
  }

  /// The status code of the answer to a GET.
  package static func status(
    _ path: String, port: Int, host: String = "localhost", fields: String = ""
  ) async throws -> String {
    String(try await get(path, port: port, host: host, fields: fields).dropFirst(9).prefix(3))
  }

  /// Sends a text as the last, and reads all that comes.
  package func exchange(_ text: String) async -> String {
    await perform { client in
      LoopbackSocket.send(Array(text.utf8), to: client.descriptor)
      client.endOutput()
      return client.receiveAllBlocking()
    }
  }
}
