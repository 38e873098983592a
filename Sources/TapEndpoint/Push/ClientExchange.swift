import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// One request over a connection of its own, and the beginning of its answer. It blocks a thread of its queue,
/// for no longer than the deadline and what the resolver takes.
enum ClientExchange {
  private static let queue = DispatchQueue(
    label: "session-tap.push", qos: .utility, attributes: .concurrent)
  /// The bytes of an answer that are looked at.
  private static let answerSize = 4096

  static func run(
    _ request: [UInt8], host: String, port: Int, within time: Duration
  ) async throws(PushError) -> ClientAnswer {
    let result: Result<ClientAnswer, PushError> = await withCheckedContinuation { continuation in
      queue.async {
        do throws(PushError) {
          continuation.resume(
            returning: .success(try exchange(request, host, port, until: .now + min(time, .seconds(86_400)))))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }

  private static func exchange(
    _ request: [UInt8], _ host: String, _ port: Int, until deadline: ContinuousClock.Instant
  ) throws(PushError) -> ClientAnswer {
    let descriptor = try connected(host, port, until: deadline)
    defer { closeDescriptor(descriptor) }
    var output = OutputQueue()
    output.append(request)
    while !output.isEmpty {
      switch Socket.send(descriptor, from: output) {
      case .done(let count): output.removeFirst(count)
      case .wouldBlock: try wait(descriptor, Int16(POLLOUT), host, port, until: deadline)
      case .failed:
        // A server may refuse early, and has perhaps said why.
        output.removeAll()
      }
    }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: answerSize)
    while answer.count < answerSize {
      switch Socket.receive(descriptor, into: &buffer) {
      case .done(0): return ClientAnswer(answer)
      case .done(let count): answer.append(contentsOf: buffer[..<count])
      case .wouldBlock: try wait(descriptor, Int16(POLLIN), host, port, until: deadline)
      case .failed: return ClientAnswer(answer)
      }
    }
    return ClientAnswer(answer)
  }

  /// Connects to the first address of the host that answers.
  private static func connected(
    _ host: String, _ port: Int, until deadline: ContinuousClock.Instant
  ) throws(PushError) -> Int32 {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    #if canImport(Glibc)
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
      hints.ai_socktype = SOCK_STREAM
    #endif
    hints.ai_flags = AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &list) == 0 else {
      throw PushError(.unreachable, "unknown host: \(host)", isTransient: true)
    }
    defer { freeaddrinfo(list) }
    var reason = "no address"
    var next = list
    while let info = next?.pointee {
      next = info.ai_next
      let descriptor = socket(info.ai_family, info.ai_socktype, info.ai_protocol)
      guard descriptor >= 0 else { continue }
      ListeningSocket.configure(descriptor)
      Socket.prepare(descriptor)
      if connect(descriptor, info.ai_addr, info.ai_addrlen) != 0, errno != EINPROGRESS {
        reason = String(cString: strerror(errno))
        closeDescriptor(descriptor)
        continue
      }
      do throws(PushError) {
        try wait(descriptor, Int16(POLLOUT), host, port, until: deadline)
      } catch {
        closeDescriptor(descriptor)
        throw error
      }
      var failure: Int32 = 0
      var length = socklen_t(MemoryLayout.size(ofValue: failure))
      getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &length)
      if failure == 0 { return descriptor }
      reason = String(cString: strerror(failure))
      closeDescriptor(descriptor)
    }
    throw PushError(.unreachable, "cannot connect to \(host):\(port): \(reason)", isTransient: true)
  }

  private static func wait(
    _ descriptor: Int32, _ events: Int16, _ host: String, _ port: Int, until deadline: ContinuousClock.Instant
  ) throws(PushError) {
    while true {
      let left = ContinuousClock.now.duration(to: deadline)
      guard left > .zero else {
        throw PushError(.unreachable, "\(host):\(port) does not answer in time", isTransient: true)
      }
      var entry = pollfd(fd: descriptor, events: events, revents: 0)
      // Rounded up, so that the last look is behind the deadline; a day is for ever.
      let milliseconds = Int32(min(left / .milliseconds(1), 86_400_000)) + 1
      if poll(&entry, 1, milliseconds) > 0 { return }
    }
  }
}
