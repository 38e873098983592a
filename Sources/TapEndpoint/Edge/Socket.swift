#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The calls on a connected socket: none blocks, and none raises SIGPIPE.
enum Socket {
  /// What came of a call that does not block.
  enum Outcome {
    case done(Int)
    case wouldBlock
    case failed
  }

  /// Reads what is there. 0 bytes are the end of the input.
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
          return sendmsg(descriptor, &message, flags)
        }
      }
    }
  }

  /// Prepares an accepted socket. Answers are small and complete: to wait for more of them (Nagle's
  /// algorithm) would meet the peer's delayed acknowledgement, and cost 40 ms.
  static func prepare(_ descriptor: Int32) {
    set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    // Else the system keeps megabytes for a client that does not read, which no limit of ours would bound.
    set(descriptor, SOL_SOCKET, SO_SNDBUF, 131_072)
    #if canImport(Darwin)
      set(descriptor, SOL_SOCKET, SO_NOSIGPIPE, 1)
    #endif
  }

  /// Makes the next close a reset: what the peer has not read is lost, and it learns so.
  static func closeByReset(_ descriptor: Int32) {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
  }

  /// Sets an option whose value is a number. An option that a kind of socket does not have does not matter.
  static func set(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout.size(ofValue: value)))
  }

  private static func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
      Darwin.send(descriptor, bytes.baseAddress, bytes.count, flags)
    #elseif canImport(Musl)
      Musl.send(descriptor, bytes.baseAddress, bytes.count, flags)
    #else
      Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags)
    #endif
  }

  #if canImport(Darwin)
    private static let flags: Int32 = 0
  #else
    private static let flags = Int32(MSG_NOSIGNAL)
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
