import TapCore
import TapLibc
import TapLinux

/// A socket that listens, and the address that the system gave it.
struct ListeningSocket: Sendable {
  #if canImport(Glibc)
    static let stream = Int32(SOCK_STREAM.rawValue)
  #else
    static let stream = SOCK_STREAM
  #endif
  /// Connections that may wait to be accepted; the system may allow fewer.
  private static let backlog: Int32 = 1024

  let descriptor: Int32
  let address: EndpointAddress

  init(_ address: EndpointAddress) throws(EndpointError) {
    let (family, name) = try address.resolved()
    descriptor = Self.makeSocket(family)
    guard descriptor >= 0 else { throw EndpointError(errno, listeningAt: address) }
    // Without this, recently closed connections block the port for a minute.
    Self.set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    let isBound = name.withUnsafeBytes { [descriptor] name in
      name.withMemoryRebound(to: sockaddr.self) {
        bind(descriptor, $0.baseAddress, socklen_t(name.count)) == 0
      }
    }
    guard isBound, listen(descriptor, Self.backlog) == 0 else {
      let error = EndpointError(errno, listeningAt: address)
      System.close(descriptor)
      throw error
    }
    self.address = EndpointAddress(localOf: descriptor) ?? address
  }

  func close() { System.close(descriptor) }

  /// - Returns: the descriptor of a connection; `nil` if none waits.
  /// - Throws: if the process or the system is out of descriptors or memory. The connection stays in the
  ///   queue.
  func accept() throws(System.Failure) -> Int32? {
    while true {
      if let descriptor = try? System.aboveStandard(acceptClosingOnExec()), descriptor >= 0 {
        Self.configureConnected(descriptor)
        return descriptor
      }
      switch errno {
      case EINTR, ECONNABORTED, EPROTO: continue
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: throw System.Failure(code: errno)
      default: return nil
      }
    }
  }

  // Descriptors must not block, nor leak into child processes, which would keep the port and the connections
  // open. On Linux both flags are set at once, so that no child process can start in between.

  /// A descriptor, or -1 and `errno`.
  private static func makeSocket(_ family: Int32) -> Int32 {
    #if canImport(Darwin)
      let type = stream
    #else
      let type = stream | O_CLOEXEC | O_NONBLOCK
    #endif
    guard let descriptor = try? System.aboveStandard(socket(family, type, 0)) else { return -1 }
    if descriptor >= 0 { configure(descriptor) }
    return descriptor
  }

  private func acceptClosingOnExec() -> Int32 {
    #if canImport(Darwin)
      let accepted = TapLibc.accept(descriptor, nil, nil)
      if accepted >= 0 { Self.configure(accepted) }
      return accepted
    #else
      return tapAccept(descriptor, nil, nil, O_CLOEXEC | O_NONBLOCK)
    #endif
  }

  private static func configure(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
  }

  /// Responses are small and complete. Waiting for more of them (Nagle's algorithm) would meet the peer's
  /// delayed acknowledgement, and cost 40 ms.
  private static func configureConnected(_ descriptor: Int32) {
    set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    // The system's default keeps megabytes for a client that does not read, outside of all limits here.
    set(descriptor, SOL_SOCKET, SO_SNDBUF, 131_072)
    #if canImport(Darwin)
      set(descriptor, SOL_SOCKET, SO_NOSIGPIPE, 1)
    #endif
  }

  private static func set(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout.size(ofValue: value)))
  }
}
