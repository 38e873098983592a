#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Sockets that a service manager has opened for this process (sd_listen_fds(3)): `LISTEN_FDS` of them from
/// descriptor 3 on, if `LISTEN_PID` is this process, with names in `LISTEN_FDNAMES`.
struct SocketActivation {
  private static let firstDescriptor: Int32 = 3

  let names: [String]

  /// - Parameters:
  ///   - variable: an environment variable's value.
  ///   - process: the number of this process.
  init(process: Int32, variable: (String) -> String?) {
    guard variable("LISTEN_PID").flatMap({ Int32($0) }) == process,
      let count = variable("LISTEN_FDS").flatMap({ Int($0) }), (1...1024).contains(count)
    else {
      names = []
      return
    }
    var names = (variable("LISTEN_FDNAMES") ?? "").split(separator: ":", omittingEmptySubsequences: false)
      .map(String.init)
    while names.count < count { names.append("") }
    self.names = Array(names.prefix(count))
  }

  static var current: SocketActivation {
    SocketActivation(process: getpid()) { name in getenv(name).map { String(cString: $0) } }
  }

  /// The descriptor of the first socket, or of the one of that name.
  func descriptor(named name: String?) -> Int32? {
    let index = name.map { names.firstIndex(of: $0) } ?? names.indices.first
    return index.map { Self.firstDescriptor + Int32($0) }
  }

  /// The socket. The endpoint has a duplicate, so that it can be started again after a shutdown.
  func socket(named name: String?) throws(EndpointError) -> ListeningSocket {
    guard let original = descriptor(named: name) else {
      throw EndpointError(
        .addressNotAvailable,
        "no activated socket\(name.map { ": " + $0 } ?? "") (start this process from a systemd socket unit)")
    }
    guard let isListening = Socket.option(original, SO_ACCEPTCONN), isListening != 0 else {
      throw EndpointError(
        .addressNotAvailable, "the activated descriptor \(original) does not listen (use ListenStream=)")
    }
    let descriptor = fcntl(original, F_DUPFD_CLOEXEC, 3)
    guard descriptor >= 0 else {
      throw EndpointError(
        .tooManyOpenFiles, "too many open files: descriptor \(original) (raise the limit, see ulimit -n)")
    }
    Socket.configure(descriptor)
    return ListeningSocket(
      descriptor: descriptor, address: SocketAddress.local(descriptor) ?? .activated(name: name))
  }
}
