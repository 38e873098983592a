/// A client that sends any bytes it is told to. Every call ends by a deadline, which is far away: it is for
/// what never comes, not for a busy machine. Calls that may wait run on threads of dispatch's, not on those
/// of the tests' tasks.
package final class RawClient: Sendable {
  private let descriptor: Int32
  private let isClosed = Atomic(false)
  private let queue = DispatchQueue(label: "raw-client")

  package init(
    host: String = "127.0.0.1", port: Int, receiveBuffer: Int32? = nil, deadline: Int = 120
  ) throws {
    descriptor = LoopbackSocket.makeSocket()
    // A `timeval`, which an optimised build takes for that of a module that cannot be imported.
    var limit: (time_t, suseconds_t) = (deadline, 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    if var receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
    var address = sockaddr_in(host: host, port: port)
    guard address.withPointer({ connect(descriptor, $0, $1) }) == 0 else {
      let code = errno
      isClosed.store(true, ordering: .relaxed)
      close(descriptor)
      throw TestFailure("connect: \(String(cString: strerror(code)))")
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

  package func send(_ text: String) { LoopbackSocket.send(Array(text.utf8), to: descriptor) }

  /// Sends all of the bytes, or as many as the other end takes before it closes.
  package func sendAll(_ all: [UInt8]) async {
    _ = await perform { LoopbackSocket.send(all, to: $0.descriptor) }
  }

  package func endOutput() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Closes with a reset. Nothing may be called after it.
  package func reset() {
    LoopbackSocket.resetAtClose(descriptor)
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

  /// What stands behind the head of an answer.
  package static func body(of answer: String) throws -> Substring {
    answer[try #require(answer.ranges(of: "\r\n\r\n").first).upperBound...]
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
      client.send(text)
      client.endOutput()
      return client.receiveAllBlocking()
    }
  }
}
