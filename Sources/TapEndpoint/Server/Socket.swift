#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The calls on a connected socket. None blocks, and none raises SIGPIPE.
enum Socket {
  /// The result of a call.
  enum Outcome {
    case done(Int)
    case wouldBlock
    case failed
  }

  /// Reads the bytes that have arrived. 0 bytes are the end of the input.
  static func receive(_ descriptor: Int32, into buffer: inout [UInt8]) -> Outcome {
    outcome { buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) } }
  }

  /// Sends the first of the bytes.
  static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Outcome {
    outcome { sendBytes(descriptor, bytes) }
  }

  private static func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
      Darwin.send(descriptor, bytes.baseAddress, bytes.count, 0)
    #elseif canImport(Musl)
      Musl.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    #else
      Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    #endif
  }

  private static func outcome(_ call: () -> Int) -> Outcome {
    while true {
      let result = call()
      if result >= 0 { return .done(result) }
      switch errno {
      case EINTR: continue
      case EAGAIN, EWOULDBLOCK: return .wouldBlock
      default: return .failed
      }
    }
  }

  /// Ends the sending direction.
  static func endOutput(_ descriptor: Int32) {
    shutdown(descriptor, Int32(SHUT_WR))
  }

  // MARK: Options

  /// Descriptors must not leak into child processes, which would keep the port and the connections open.
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

  /// Makes the next close a reset: what the peer has not read is lost, and the peer learns so.
  static func closeByReset(_ descriptor: Int32) {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
  }

  /// Sets an option whose value is a number. An option that a kind of socket does not have is ignored.
  static func set(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout.size(ofValue: value)))
  }

  // MARK: Descriptors

  /// The number of descriptors that the process may have.
  static var descriptorLimit: Int {
    var limit = rlimit()
    #if canImport(Glibc)
      let result = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    #else
      let result = getrlimit(RLIMIT_NOFILE, &limit)
    #endif
    return result == 0 && limit.rlim_cur < Int.max ? Int(limit.rlim_cur) : .max
  }
}

/// `close(2)`, whose name methods hide.
func closeDescriptor(_ descriptor: Int32) {
  close(descriptor)
}
