#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension ListeningSocket {
  /// Clients that may wait to be accepted; the system may allow fewer.
  private static let backlog: Int32 = 1024

  #if canImport(Glibc)
    private static let stream = Int32(SOCK_STREAM.rawValue)
  #else
    private static let stream = SOCK_STREAM
  #endif

  static func tcp(host: String, port: Int) throws(EndpointError) -> ListeningSocket {
    let address = EndpointAddress.tcp(host: host, port: port)
    guard (0...65535).contains(port) else {
      throw EndpointError(
        .invalidConfiguration, "invalid port: \(port) (choose one of 1 to 65535, or 0 for a free one)")
    }
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = stream
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    // A machine may resolve localhost to ::1 first, where a scraper of 127.0.0.1 would find nobody.
    let name = host.isEqualIgnoringASCIICase(to: "localhost") ? "127.0.0.1" : host
    // The resolver takes an empty name for every address of the machine, and ends a name at a NUL.
    guard !name.isEmpty, !name.utf8.contains(0), getaddrinfo(name, String(port), &hints, &list) == 0,
      let info = list?.pointee
    else {
      throw EndpointError(
        .addressNotAvailable, "unknown host: \(host) (use an address of this machine, such as 127.0.0.1)")
    }
    defer { freeaddrinfo(list) }
    let descriptor = socket(info.ai_family, info.ai_socktype, info.ai_protocol)
    guard descriptor >= 0 else { throw failure(errno, address) }
    configure(descriptor)
    // Without this, connections that were closed a moment ago keep the port for a minute.
    Socket.set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    guard bind(descriptor, info.ai_addr, info.ai_addrlen) == 0, listen(descriptor, backlog) == 0 else {
      throw failure(closing: descriptor, address)
    }
    return ListeningSocket(descriptor: descriptor, address: SocketAddress.local(descriptor) ?? address)
  }

  static func unix(path: String) throws(EndpointError) -> ListeningSocket {
    let address = EndpointAddress.unix(path: path)
    let descriptor = socket(AF_UNIX, stream, 0)
    guard descriptor >= 0 else { throw failure(errno, address) }
    configure(descriptor)
    // On Linux the file takes the socket's mode, so that there is no moment in which others can open it.
    fchmod(descriptor, 0o600)
    SocketFile.removeLeftover(path)
    guard let result = SocketAddress.withUnix(path: path, { bind(descriptor, $0, $1) }) else {
      closeDescriptor(descriptor)
      throw EndpointError(
        .invalidConfiguration, "invalid socket path: \(path) (choose one of 1 to 100 bytes)")
    }
    guard result == 0 else { throw failure(closing: descriptor, address) }
    // Elsewhere the mode of the file is set before anybody can connect.
    guard chmod(path, 0o600) == 0, listen(descriptor, backlog) == 0 else {
      let error = failure(closing: descriptor, address)
      unlink(path)
      throw error
    }
    return ListeningSocket(descriptor: descriptor, address: address, file: SocketFile(path))
  }

  private static func failure(closing descriptor: Int32, _ address: EndpointAddress) -> EndpointError {
    let code = errno
    closeDescriptor(descriptor)
    return failure(code, address)
  }

  private static func failure(_ code: Int32, _ address: EndpointAddress) -> EndpointError {
    switch code {
    case EADDRINUSE:
      EndpointError(
        .addressInUse, "address in use: \(address) (stop who listens there, or choose another one)")
    case EADDRNOTAVAIL:
      EndpointError(
        .addressNotAvailable, "address not available: \(address) (use an address of this machine)")
    case ENOENT, ENOTDIR:
      EndpointError(.addressNotAvailable, "no such directory: \(address) (create it first)")
    case EACCES, EPERM, EROFS:
      EndpointError(
        .permissionDenied,
        "permission denied: \(address) (choose a port above 1023, or a directory that can be written)")
    case EMFILE, ENFILE:
      EndpointError(.tooManyOpenFiles, "too many open files: \(address) (raise the limit, see ulimit -n)")
    default:
      EndpointError(.system, "cannot listen: \(address) (\(String(cString: strerror(code))))")
    }
  }
}
