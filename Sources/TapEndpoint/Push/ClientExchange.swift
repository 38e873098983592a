import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// One request over a connection of its own, and its answer. It blocks a thread of its queue, for no longer than the
/// deadline and what the resolver takes.
enum ClientExchange {
  private static let queue = DispatchQueue(
    label: "session-tap.push", qos: .utility, attributes: .concurrent)

  /// Sends the request to one address of the host after the other until one answers. It must be one that may be sent
  /// twice (RFC 9110, section 9.2.2).
  ///
  /// - Parameter resolve: finds the addresses.
  static func run(
    _ request: [UInt8], host: String, port: Int, within time: Duration,
    resolve: @escaping @Sendable (String, Int) throws(PushError) -> [ResolvedAddress] = ResolvedAddress.all
  ) async throws(PushError) -> ClientAnswer {
    let gateway = EndpointAddress.tcp(host: host, port: port).description
    let result: Result<ClientAnswer, PushError> = await withCheckedContinuation { continuation in
      queue.async {
        do throws(PushError) {
          let deadline = ContinuousClock.now + min(time, .seconds(86_400))
          let addresses = try resolve(host, port)
          continuation.resume(returning: .success(try answer(to: request, addresses, gateway, deadline)))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }

  /// The time for the next of the addresses that are left: were it all of it, one that does not answer would leave
  /// nothing to the others.
  static func share(of time: Duration, among addresses: Int) -> Duration {
    time / max(addresses, 1)
  }

  private static func answer(
    to request: [UInt8], _ addresses: [ResolvedAddress], _ gateway: String,
    _ deadline: ContinuousClock.Instant
  ) throws(PushError) -> ClientAnswer {
    var failure = PushError(.unreachable, "no address: \(gateway)", isTransient: true)
    for (index, address) in addresses.enumerated() {
      let now = ContinuousClock.now
      let share = share(of: now.duration(to: deadline), among: addresses.count - index)
      do throws(PushError) {
        return try exchange(request, address, gateway, until: now + share)
      } catch {
        failure = error
      }
    }
    throw failure
  }

  private static func exchange(
    _ request: [UInt8], _ address: ResolvedAddress, _ gateway: String, until deadline: ContinuousClock.Instant
  ) throws(PushError) -> ClientAnswer {
    let descriptor = socket(address.family, address.type, address.number)
    guard descriptor >= 0 else { throw unreachable(gateway, errno) }
    defer { closeDescriptor(descriptor) }
    ListeningSocket.configure(descriptor)
    Socket.prepare(descriptor)
    if address.connect(descriptor) != 0 {
      guard errno == EINPROGRESS else { throw unreachable(gateway, errno) }
      try wait(descriptor, POLLOUT, gateway, until: deadline)
      var failure: Int32 = 0
      var length = socklen_t(MemoryLayout.size(ofValue: failure))
      getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &length)
      guard failure == 0 else { throw unreachable(gateway, failure) }
    }
    var output = OutputQueue()
    output.append(request)
    while !output.isEmpty {
      switch Socket.send(descriptor, from: output) {
      case .done(let count): output.removeFirst(count)
      case .wouldBlock: try wait(descriptor, POLLOUT, gateway, until: deadline)
      case .failed:
        // A server may refuse early, and has perhaps said why.
        output.removeAll()
      }
    }
    var parser = ClientAnswerParser()
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      switch Socket.receive(descriptor, into: &buffer) {
      case .done(0), .failed: return parser.answer
      case .done(let count): if parser.take(buffer[..<count]) { return parser.answer }
      case .wouldBlock: try wait(descriptor, POLLIN, gateway, until: deadline)
      }
    }
  }

  private static func unreachable(_ gateway: String, _ code: Int32) -> PushError {
    PushError(
      .unreachable, "cannot connect to \(gateway): \(String(cString: strerror(code)))", isTransient: true)
  }

  private static func wait(
    _ descriptor: Int32, _ events: Int32, _ gateway: String, until deadline: ContinuousClock.Instant
  ) throws(PushError) {
    while true {
      let left = ContinuousClock.now.duration(to: deadline)
      guard left > .zero else {
        throw PushError(.unreachable, "\(gateway) does not answer in time", isTransient: true)
      }
      var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
      // Rounded up, so that the last look is behind the deadline; a day is for ever.
      let milliseconds = Int32(min(left / .milliseconds(1), 86_400_000)) + 1
      if poll(&entry, 1, milliseconds) > 0 { return }
    }
  }
}
