import TapCore
import TapLibc
import TapLinux

/// A socket that listens, and the address that the system gave it.
struct ListeningSocket: Sendable {
  /// Connections that may wait to be accepted; the system may allow fewer.
  private static let backlog: Int32 = 1024

  let descriptor: Int32
  let address: EndpointAddress
  /// The file of a Unix socket.
  private let file: (path: String, status: System.FileStatus)?

  init(_ address: EndpointAddress) throws(EndpointError) {
    let socketAddress = try SocketAddress(address)
    let path: String? = if case .unix(let path) = address.kind { path } else { nil }
    descriptor = socketAddress.makeSocket()
    guard descriptor >= 0 else { throw Self.failure(errno, address) }
    if let path {
      // On Linux the file gets the socket's mode, so that at no time others can open it.
      fchmod(descriptor, 0o600)
      Self.removeLeftover(path, at: socketAddress)
    } else {
      // Without this, connections that were closed recently keep the port for a minute.
      Socket.set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    }
    let isBound = socketAddress.pass(descriptor, to: bind) == 0
    // Elsewhere the mode of the file is set before anybody can connect.
    guard isBound, path.map({ chmod($0, 0o600) }) ?? 0 == 0, listen(descriptor, Self.backlog) == 0 else {
      let error = Self.failure(errno, address)
      System.close(descriptor)
      if isBound, let path { System.remove(path) }
      throw error
    }
    // The app may have changed its directory when the socket closes.
    file = path.map(System.absolute).flatMap { path in
      (try? System.status(ofLinkAtPath: path)).map { (path, $0) }
    }
    self.address = path == nil ? SocketAddress.local(descriptor) ?? address : address
  }

  /// - Returns: the descriptor of a connection; `nil` if none waits.
  /// - Throws: if the process or the system is out of descriptors or memory. The connection stays in the
  ///   queue.
  func accept() throws(System.Failure) -> Int32? {
    while true {
      if let descriptor = try? System.aboveStandard(acceptClosingOnExec()), descriptor >= 0 {
        Socket.configureConnected(descriptor)
        return descriptor
      }
      switch errno {
      case EINTR, ECONNABORTED, EPROTO: continue
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: throw System.Failure(code: errno)
      default: return nil
      }
    }
  }

  /// Closes the descriptor, and removes the file of a Unix socket, unless another process has put its own in
  /// its place.
  func close() {
    if let file, let status = try? System.status(ofLinkAtPath: file.path), status.isSameFile(as: file.status)
    {
      System.remove(file.path)
    }
    System.close(descriptor)
  }

  /// Removes a socket that no process listens on any more: one that crashed has left it. Any other file is
  /// left alone, and lets the binding fail.
  private static func removeLeftover(_ path: String, at address: SocketAddress) {
    guard let status = try? System.status(ofLinkAtPath: path), status.kind == .socket else { return }
    let probe = address.makeSocket()
    guard probe >= 0 else { return }
    defer { System.close(probe) }
    if address.pass(probe, to: connect) == -1, errno == ECONNREFUSED { System.remove(path) }
  }

  private func acceptClosingOnExec() -> Int32 {
    #if canImport(Darwin)
      let accepted = TapLibc.accept(descriptor, nil, nil)
      if accepted >= 0 { Socket.configure(accepted) }
      return accepted
    #else
      // Both flags at once, so that no child process can start in between.
      return tapAccept(descriptor, nil, nil, O_CLOEXEC | O_NONBLOCK)
    #endif
  }

  static func failure(_ code: Int32, _ address: EndpointAddress) -> EndpointError {
    let (cause, reason, remedy): (EndpointError.Code, String, String) =
      switch code {
      case EADDRINUSE:
        (.addressInUse, "address in use", "stop the process that listens there, or choose another address")
      case EADDRNOTAVAIL: (.addressNotAvailable, "address not available", "use an address of this machine")
      case ENOENT, ENOTDIR: (.addressNotAvailable, "no such directory", "create it first")
      case EACCES, EPERM, EROFS:
        (
          .permissionDenied, "permission denied",
          "choose a port above 1023, or a directory that can be written"
        )
      case EMFILE, ENFILE: (.tooManyOpenFiles, "too many open files", "raise the limit, see ulimit -n")
      default: (.system, "cannot listen", System.Failure(code: code).text)
      }
    return EndpointError(cause, "\(reason): \(address) (\(remedy))")
  }
}
