#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A socket that listens, and the address that it was given.
struct ListeningSocket {
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

  /// Binds and listens.
  init(_ address: EndpointAddress) throws(EndpointError) {
    switch address.kind {
    case .tcp(let host, let port):
      self = try Self.tcp(host: host, port: port, address)
    }
  }

  private init(descriptor: Int32, address: EndpointAddress) {
    self.descriptor = descriptor
    self.address = address
  }

  private static func tcp(
    host: String, port: Int, _ address: EndpointAddress
  ) throws(EndpointError) -> ListeningSocket {
    guard (0...65535).contains(port) else {
      throw EndpointError(
        .invalidConfiguration, "invalid port: \(port) (choose one of 1 to 65535, or 0 for a free one)")
    }
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    #if canImport(Glibc)
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
      hints.ai_socktype = SOCK_STREAM
    #endif
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    // A machine may resolve localhost to ::1 first, where a scraper of 127.0.0.1 would find nobody.
    let name = host.isEqualIgnoringASCIICase(to: "localhost") ? "127.0.0.1" : host
    guard getaddrinfo(name, String(port), &hints, &list) == 0, let info = list?.pointee else {
      throw EndpointError(
        .addressNotAvailable, "unknown host: \(host) (use an address of this machine, such as 127.0.0.1)")
    }
    defer { freeaddrinfo(list) }
    let descriptor = socket(info.ai_family, info.ai_socktype, info.ai_protocol)
    guard descriptor >= 0 else { throw failure(errno, address) }
    configure(descriptor)
    // Without this, connections that were closed a moment ago keep the port for a minute.
    Socket.set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    guard bind(descriptor, info.ai_addr, info.ai_addrlen) == 0, listen(descriptor, 1024) == 0 else {
      let code = errno
      close(descriptor)
      throw failure(code, address)
    }
    return ListeningSocket(
      descriptor: descriptor,
      address: .tcp(host: numericHost(info) ?? host, port: localPort(descriptor) ?? port))
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

  /// Descriptors must not leak into child processes, where they would keep the port and the connections.
  private static func configure(_ descriptor: Int32) {
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

  private static func numericHost(_ info: addrinfo) -> String? {
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    guard
      getnameinfo(
        info.ai_addr, info.ai_addrlen, &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST) == 0
    else { return nil }
    return String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The port that the system chose.
  private static func localPort(_ descriptor: Int32) -> Int? {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout.size(ofValue: address))
    return withUnsafeMutablePointer(to: &address) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        guard getsockname(descriptor, generic, &length) == 0 else { return nil }
        // The port is at the same place in the addresses of both families.
        return generic.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
          Int(UInt16(bigEndian: $0.pointee.sin_port))
        }
      }
    }
  }

  private static func failure(_ code: Int32, _ address: EndpointAddress) -> EndpointError {
    switch code {
    case EADDRINUSE:
      EndpointError(
        .addressInUse, "address in use: \(address) (stop who listens there, or choose another port, or 0)")
    case EADDRNOTAVAIL:
      EndpointError(
        .addressNotAvailable, "address not available: \(address) (use an address of this machine)")
    case EACCES, EPERM:
      EndpointError(
        .permissionDenied,
        "permission denied: \(address) (ports below 1024 need privileges: choose a higher one)")
    case EMFILE, ENFILE:
      EndpointError(.tooManyOpenFiles, "too many open files: \(address) (raise the limit, see ulimit -n)")
    default:
      EndpointError(.system, "cannot listen: \(address) (\(String(cString: strerror(code))))")
    }
  }
}
