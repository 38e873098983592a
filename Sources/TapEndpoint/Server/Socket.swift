import TapLibc

enum Socket {
  /// Descriptors must not block, nor leak into child processes, which would keep the port and the connections
  /// open.
  static func configure(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
  }

  /// Sets the options of a connected socket. Responses are small and complete: to wait for more of them
  /// (Nagle's algorithm) would meet the peer's delayed acknowledgement, and cost 40 ms.
  static func configureConnected(_ descriptor: Int32) {
    set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    // The system's default keeps megabytes for a client that does not read, which no limit here would bound.
    set(descriptor, SOL_SOCKET, SO_SNDBUF, 131_072)
    #if canImport(Darwin)
      set(descriptor, SOL_SOCKET, SO_NOSIGPIPE, 1)
    #endif
  }

  /// Sets an option whose value is a number. An option that a kind of socket does not have is ignored.
  static func set(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout.size(ofValue: value)))
  }

  static var descriptorLimit: Int {
    let limit = sysconf(Int32(_SC_OPEN_MAX))
    return limit < 0 ? .max : limit
  }
}
