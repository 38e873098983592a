/// The system calls of a server on 127.0.0.1.
package enum LoopbackSocket {
  static func makeSocket() -> Int32 {
    socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  }

  /// A socket on 127.0.0.1 and a port that the system chose. Bound but not listening it refuses every
  /// connection, and the port is not free for others.
  package static func bind(listens: Bool) throws -> (descriptor: Int32, port: Int) {
    let descriptor = makeSocket()
    var address = sockaddr_in(port: 0)
    let isBound = address.withPointer { pointer, length in
      var length = length
      return Glibc.bind(descriptor, pointer, length) == 0 && (!listens || listen(descriptor, 512) == 0)
        && getsockname(descriptor, pointer, &length) == 0
    }
    guard isBound else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
  }

  /// A socket that connects to a port, and does not wait for that.
  package static func connect(to port: Int) -> Int32 {
    let descriptor = makeSocket()
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    var address = sockaddr_in(port: port)
    _ = address.withPointer { Glibc.connect(descriptor, $0, $1) }
    return descriptor
  }

  /// A Unix socket, whose file stays when it is closed.
  package static func bind(path: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let isBound = withUnsafeBytes(of: &address) {
      Glibc.bind(descriptor, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count)) == 0
    }
    guard isBound else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    return descriptor
  }

  /// Answers the requests of one connection until either side ends it.
  static func serve(_ connection: Int32, greeting: [OriginStep], script: (OriginRequest) -> [OriginStep]) {
    var noDelay: Int32 = 1
    setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
    var pending: [UInt8] = []
    guard greeting.allSatisfy({ take($0, on: connection) }) else { return }
    while let request = readRequest(connection, pending: &pending) {
      guard script(request).allSatisfy({ take($0, on: connection) }) else { return }
    }
  }

  /// Takes one step of an answer. `false` if the connection ends with it.
  private static func take(_ step: OriginStep, on connection: Int32) -> Bool {
    switch step {
    case .send(let bytes): return send(bytes, to: connection)
    case .arrival:
      var entry = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
      return poll(&entry, 1, -1) > 0
    case .think(let milliseconds):
      poll(nil, 0, Int32(milliseconds))
      return true
    case .hold(let gate):
      gate.waitBlocking()
      return true
    case .signal(let gate):
      gate.open()
      return true
    case .forward(let port):
      forward(connection, to: port)
      return false
    case .close: return false
    case .reset:
      resetAtClose(connection)
      return false
    }
  }

  /// Has a close break the connection with a TCP reset.
  static func resetAtClose(_ connection: Int32) {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
  }

  private static func forward(_ connection: Int32, to port: Int) {
    let server = connect(to: port)
    defer { close(server) }
    _ = fcntl(server, F_SETFL, fcntl(server, F_GETFL) & ~O_NONBLOCK)
    var entries = [connection, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while poll(&entries, 2, -1) > 0 {
      for (from, to) in [(0, 1), (1, 0)] where entries[from].revents != 0 {
        var bytes: [UInt8] = []
        guard receive(from: entries[from].fd, into: &bytes), send(bytes, to: entries[to].fd) else { return }
      }
    }
  }

  /// Sends all of the bytes. `false` if the other end closes before.
  @discardableResult
  static func send(_ bytes: [UInt8], to connection: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let n = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard n > 0 else { return false }
      rest = rest.dropFirst(n)
    }
    return true
  }

  private static func readRequest(_ connection: Int32, pending: inout [UInt8]) -> OriginRequest? {
    let separator = Array("\r\n\r\n".utf8)
    guard let head = take(until: separator, from: connection, pending: &pending) else { return nil }
    let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count == 3 else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    var body: [UInt8] = []
    if headers["expect"] == "100-continue" {
      guard send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), to: connection) else { return nil }
    }
    if headers["transfer-encoding"]?.lowercased() == "chunked" {
      let lineEnd = Array("\r\n".utf8)
      while let line = take(until: lineEnd, from: connection, pending: &pending),
        let size = Int(String(decoding: line, as: UTF8.self), radix: 16)
      {
        guard let chunk = take(size, from: connection, pending: &pending),
          take(until: lineEnd, from: connection, pending: &pending) != nil
        else { return nil }
        if size == 0 { break }
        body += chunk
      }
    } else if let length = headers["content-length"].flatMap({ Int($0) }) {
      guard let bytes = take(length, from: connection, pending: &pending) else { return nil }
      body = bytes
    }
    return OriginRequest(method: String(words[0]), target: String(words[1]), headers: headers, body: body)
  }

  private static func take(until end: [UInt8], from connection: Int32, pending: inout [UInt8]) -> [UInt8]? {
    while true {
      if let range = pending.firstRange(of: end) {
        defer { pending.removeSubrange(..<range.upperBound) }
        return Array(pending[..<range.lowerBound])
      }
      guard receive(from: connection, into: &pending), pending.first != tlsHandshake else { return nil }
    }
  }

  /// The type of a TLS record that opens a connection (RFC 8446, section 5.1): this server has no TLS.
  private static let tlsHandshake: UInt8 = 22

  private static func take(_ count: Int, from connection: Int32, pending: inout [UInt8]) -> [UInt8]? {
    while pending.count < count { guard receive(from: connection, into: &pending) else { return nil } }
    defer { pending.removeFirst(count) }
    return Array(pending.prefix(count))
  }

  private static func receive(from connection: Int32, into pending: inout [UInt8]) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65536)
    let count = recv(connection, &buffer, buffer.count, 0)
    guard count > 0 else { return false }
    pending += buffer[..<count]
    return true
  }
}

extension sockaddr_in {
  /// Of a host that is no address it is one to which nothing connects.
  init(host: String = "127.0.0.1", port: Int) {
    self.init()
    (sin_family, sin_port) = (sa_family_t(AF_INET), UInt16(truncatingIfNeeded: port).bigEndian)
    sin_addr.s_addr = inet_addr(host)
  }

  mutating func withPointer<Result>(_ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Result) -> Result {
    withUnsafeMutablePointer(to: &self) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}

/// A loopback port that refuses every connection for as long as this object lives.
package final class ClosedPort: Sendable {
  /// The port that the system chose.
  package let port: Int
  private let descriptor: Int32

  package init() throws { (descriptor, port) = try LoopbackSocket.bind(listens: false) }

  deinit { close(descriptor) }
}
