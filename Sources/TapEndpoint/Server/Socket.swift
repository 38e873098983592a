#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The calls on a connected socket. None blocks but ``wait(_:for:until:)``, and none raises SIGPIPE.
enum Socket {
  /// The result of a call that does not block.
  enum Outcome {
    case done(Int)
    case wouldBlock
    case failed
  }

  /// What ``wait(_:for:until:)`` waits for.
  enum Readiness {
    case readable, writable
  }

  /// Reads the bytes that have arrived. 0 bytes are the end of the input.
  static func receive(_ descriptor: Int32, into buffer: inout [UInt8]) -> Outcome {
    outcome { buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) } }
  }

  /// Sends the first bytes of the queue: a head and its body leave in one call, and so in one segment if they
  /// fit.
  static func send(_ descriptor: Int32, from output: OutputQueue) -> Outcome {
    output.withFirstParts { first, second in
      guard !second.isEmpty else { return outcome { sendBytes(descriptor, first) } }
      var parts = [
        iovec(iov_base: UnsafeMutableRawPointer(mutating: first.baseAddress), iov_len: first.count),
        iovec(iov_base: UnsafeMutableRawPointer(mutating: second.baseAddress), iov_len: second.count),
      ]
      return outcome {
        parts.withUnsafeMutableBufferPointer { parts in
          var message = msghdr()
          message.msg_iov = parts.baseAddress
          message.msg_iovlen = numericCast(parts.count)
          return sendmsg(descriptor, &message, sendFlags)
        }
      }
    }
  }

  /// Ends the sending direction.
  static func endOutput(_ descriptor: Int32) {
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Waits until the socket is ready or has failed. Blocks the thread.
  /// - Returns: `false` if the deadline has passed before.
  static func wait(
    _ descriptor: Int32, for readiness: Readiness, until deadline: ContinuousClock.Instant
  ) -> Bool {
    while true {
      let remaining = ContinuousClock.now.duration(to: deadline)
      guard remaining > .zero else { return false }
      let events = readiness == .readable ? POLLIN : POLLOUT
      var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
      // Rounded up, so that the last call returns after the deadline. A day is as good as for ever.
      let milliseconds = Int32(min(remaining / .milliseconds(1), 86_400_000)) + 1
      if poll(&entry, 1, milliseconds) > 0 { return true }
    }
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

  /// The value of an option of the socket itself; `nil` if there is none.
  static func option(_ descriptor: Int32, _ name: Int32) -> Int32? {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout.size(ofValue: value))
    return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
  }

  // MARK: Descriptors and errors

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

  /// The error of the last call that failed on this thread.
  static var lastError: Int32 { errno }

  /// The error of a connect that has begun but not ended.
  static let connectInProgress = EINPROGRESS

  /// The result of a connect that has ended: 0, or its error.
  static func connectError(_ descriptor: Int32) -> Int32 { option(descriptor, SO_ERROR) ?? 0 }

  /// The system's text for an error number.
  static func message(_ code: Int32) -> String {
    String(cString: strerror(code))
  }

  private static func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
      Darwin.send(descriptor, bytes.baseAddress, bytes.count, sendFlags)
    #elseif canImport(Musl)
      Musl.send(descriptor, bytes.baseAddress, bytes.count, sendFlags)
    #else
      Glibc.send(descriptor, bytes.baseAddress, bytes.count, sendFlags)
    #endif
  }

  #if canImport(Darwin)
    private static let sendFlags: Int32 = 0
  #else
    private static let sendFlags = Int32(MSG_NOSIGNAL)
  #endif

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
}

/// `close(2)`, whose name methods hide.
func closeDescriptor(_ descriptor: Int32) {
  close(descriptor)
}
