import Dispatch

/// Sends one request over a new connection, and receives the response. It blocks a thread of its queue, for no longer
/// than the deadline and the time of the resolver.
enum HTTPClient {
  private static let queue = DispatchQueue(
    label: "session-tap.push", qos: .utility, attributes: .concurrent)

  /// Sends the request to one address of the host after the other until one answers. It must be one that may be sent
  /// twice (RFC 9110, section 9.2.2).
  ///
  /// - Parameter resolve: finds the addresses.
  static func run(
    _ request: [UInt8], host: String, port: Int, within time: Duration,
    resolve: @escaping @Sendable (String, Int) throws(PushError) -> [SocketAddress] = addresses
  ) async throws(PushError) -> ClientResponse {
    let gateway = EndpointAddress.tcp(host: host, port: port).description
    let result: Result<ClientResponse, PushError> = await withCheckedContinuation { continuation in
      queue.async {
        do throws(PushError) {
          let deadline = ContinuousClock.now + min(max(time, .zero), .seconds(86_400))
          let addresses = try resolve(host, port)
          continuation.resume(returning: .success(try answer(to: request, addresses, gateway, deadline)))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }

  /// The time for the next of the remaining addresses: not all of it, because one that does not answer would leave
  /// none to the others.
  static func share(of time: Duration, among addresses: Int) -> Duration {
    time / max(addresses, 1)
  }

  private static func answer(
    to request: [UInt8], _ addresses: [SocketAddress], _ gateway: String,
    _ deadline: ContinuousClock.Instant
  ) throws(PushError) -> ClientResponse {
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
    _ request: [UInt8], _ address: SocketAddress, _ gateway: String, until deadline: ContinuousClock.Instant
  ) throws(PushError) -> ClientResponse {
    let descriptor = address.makeSocket()
    guard descriptor >= 0 else { throw unreachable(gateway, Socket.lastError) }
    defer { closeDescriptor(descriptor) }
    Socket.configureConnected(descriptor)
    if address.connect(descriptor) != 0 {
      guard Socket.lastError == Socket.connectInProgress else { throw unreachable(gateway, Socket.lastError) }
      try wait(descriptor, for: .writable, gateway, until: deadline)
      let failure = Socket.connectError(descriptor)
      guard failure == 0 else { throw unreachable(gateway, failure) }
    }
    var output = OutputQueue()
    output.append(request)
    while !output.isEmpty {
      switch Socket.send(descriptor, from: output) {
      case .done(let count): output.removeFirst(count)
      case .wouldBlock: try wait(descriptor, for: .writable, gateway, until: deadline)
      case .failed:
        // A server may refuse early: its response may have arrived.
        output.removeAll()
      }
    }
    var parser = ResponseParser()
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      switch Socket.receive(descriptor, into: &buffer) {
      case .done(0), .failed: return parser.answer
      case .done(let count): if parser.take(buffer[..<count]) { return parser.answer }
      case .wouldBlock: try wait(descriptor, for: .readable, gateway, until: deadline)
      }
    }
  }

  private static func addresses(of host: String, port: Int) throws(PushError) -> [SocketAddress] {
    let addresses = SocketAddress.resolve(host: host, port: port)
    if addresses.isEmpty { throw PushError(.unreachable, "unknown host: \(host)", isTransient: true) }
    return addresses
  }

  private static func unreachable(_ gateway: String, _ code: Int32) -> PushError {
    PushError(.unreachable, "cannot connect to \(gateway): \(Socket.message(code))", isTransient: true)
  }

  private static func wait(
    _ descriptor: Int32, for readiness: Socket.Readiness, _ gateway: String,
    until deadline: ContinuousClock.Instant
  ) throws(PushError) {
    guard Socket.wait(descriptor, for: readiness, until: deadline) else {
      throw PushError(.unreachable, "\(gateway) does not answer in time", isTransient: true)
    }
  }
}
