#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A socket that listens, and the address that it was given.
struct ListeningSocket: Sendable {
  /// What came of an accept.
  enum Accepted {
    case connection(Int32)
    /// Nobody waits.
    case none
    /// The process or the system is out of descriptors or memory: the client stays in the queue.
    case exhausted
  }

  let descriptor: Int32
  let address: EndpointAddress
  /// A file to remove when the socket is closed.
  let file: SocketFile?

  init(descriptor: Int32, address: EndpointAddress, file: SocketFile? = nil) {
    self.descriptor = descriptor
    self.address = address
    self.file = file
  }

  /// Binds and listens.
  init(_ address: EndpointAddress) throws(EndpointError) {
    switch address.kind {
    case .tcp(let host, let port): self = try Self.tcp(host: host, port: port)
    case .unix(let path): self = try Self.unix(path: path)
    case .activated(let name): self = try SocketActivation.current.socket(named: name)
    }
  }

  /// The next client that waits.
  func accept() -> Accepted {
    while true {
      let client = acceptClosingOnExec(descriptor)
      if client >= 0 {
        Socket.prepare(client)
        return .connection(client)
      }
      switch errno {
      case EINTR, ECONNABORTED, EPROTO: continue
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
      default: return .none
      }
    }
  }

  /// Closes the descriptor, and removes the file of a Unix socket.
  func close() {
    file?.remove()
    closeDescriptor(descriptor)
  }

  /// Descriptors must not leak into child processes, where they would keep the port and the connections.
  static func configure(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
  }

  private func acceptClosingOnExec(_ descriptor: Int32) -> Int32 {
    #if canImport(Glibc)
      // accept4 sets both flags at once, so that no child process can start in between. Its declaration
      // needs _GNU_SOURCE, without which Swift sees glibc.
      if let accept4 = Self.accept4 {
        return accept4(descriptor, nil, nil, Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue))
      }
      let client = Glibc.accept(descriptor, nil, nil)
    #elseif canImport(Musl)
      let client = Musl.accept(descriptor, nil, nil)
    #else
      let client = Darwin.accept(descriptor, nil, nil)
    #endif
    if client >= 0 { Self.configure(client) }
    return client
  }

  #if canImport(Glibc)
    private typealias Accept4 =
      @convention(c) (
        Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?, Int32
      ) -> Int32
    private static let accept4 = dlsym(nil, "accept4").map { unsafeBitCast($0, to: Accept4.self) }
  #endif
}
