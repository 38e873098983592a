import Dispatch

/// Passes requests to handlers, and their answers back.
extension EventLoop {
  /// Where an answer goes.
  struct Recipient: Sendable {
    let connection: Connection.ID
    let request: UInt64
  }

  func handle(_ request: EndpointRequest, _ id: UInt64, on connection: Connection, at time: EventTime) {
    if let refusal = authenticator.refusal(request) {
      log(refusal.status, "credentials", on: connection, at: time)
      connection.state.answer(refusal, to: id, at: time)
      return
    }
    switch router.match(request) {
    case .refused(let response):
      connection.state.answer(response, to: id, at: time)
    case .handler(.immediate(let handler)):
      let response = handler(request)
      guard case .stream = response.body else {
        return connection.state.answer(response, to: id, at: time)
      }
      // The head was quick; its body takes its time like any other.
      start({ _ in response }, request, id, on: connection, at: time)
    case .handler(.deferred(let handler)):
      scrape(handler, request, id, on: connection, at: time)
    case .handler(.asynchronous(let handler)):
      start(handler, request, id, on: connection, at: time)
    }
  }

  // MARK: Places

  /// Runs a handler of the app in a task, unless there are too many.
  private func start(
    _ handler: @escaping @Sendable (EndpointRequest) async throws -> EndpointResponse,
    _ request: EndpointRequest, _ id: UInt64, on connection: Connection, at time: EventTime
  ) {
    // The place of the request before, if they arrived together.
    releasePlace(of: connection)
    guard requestsInFlight < limits.appRequestsInFlight(connections: connections.maximum) else {
      return refuse(id, on: connection, "too many requests are being answered", at: time)
    }
    connection.placedRequest = id
    requestsInFlight += 1
    let recipient = Recipient(connection: connection.id, request: id)
    connection.task = Task { await self.run(handler, request, for: recipient) }
  }

  /// Runs a handler that calls back, unless there are too many. It needs no task.
  private func scrape(
    _ handler: @Sendable (EndpointRequest, @escaping EndpointRoute.Completion) -> Void,
    _ request: EndpointRequest, _ id: UInt64, on connection: Connection, at time: EventTime
  ) {
    guard scrapesInFlight < limits.scrapesInFlight(connections: connections.maximum) else {
      return refuse(id, on: connection, "too many scrapes are being answered", at: time)
    }
    scrapesInFlight += 1
    let recipient = Recipient(connection: connection.id, request: id)
    handler(request) { [weak self] response, isSent in
      guard let self else { return isSent(false) }
      executor.queue.async {
        self.assumeIsolated { loop in
          // Not at the deadline: what waits for a collector that hangs takes memory, which this bounds.
          loop.scrapesInFlight -= 1
          isSent(loop.answer(response, to: recipient))
        }
      }
    }
  }

  private func refuse(_ id: UInt64, on connection: Connection, _ reason: String, at time: EventTime) {
    connection.state.answer(.refusal(.serviceUnavailable, reason), to: id, at: time)
  }

  /// Releases the place of a request that has ended: it was answered, its deadline has passed, or its client is gone.
  /// Its handler may still run.
  func releasePlace(of connection: Connection) {
    guard let id = connection.placedRequest, connection.isClosed || !connection.state.isCurrent(id) else {
      return
    }
    connection.placedRequest = nil
    requestsInFlight -= 1
  }

  // MARK: Answers

  /// Runs a handler outside of the event loop, and delivers its answer.
  private nonisolated func run(
    _ handler: @Sendable (EndpointRequest) async throws -> EndpointResponse, _ request: EndpointRequest,
    for recipient: Recipient
  ) async {
    var response: EndpointResponse
    do {
      response = try await handler(request)
    } catch {
      response = .refusal(.internalServerError, "the handler failed")
    }
    guard case .stream(_, let produce) = response.body else {
      _ = await answer(response, to: recipient)
      return
    }
    guard await begin(response, to: recipient) else { return }
    let writer = EndpointBodyWriter { bytes in
      guard await self.write(bytes, to: recipient) else { throw CancellationError() }
    }
    let isComplete: Bool
    do {
      try await produce(writer)
      isComplete = true
    } catch {
      isComplete = false
    }
    await endBody(of: recipient, isComplete: isComplete)
  }

  /// The connection that an answer is for, if it is still open and waits for that answer.
  private func connection(_ recipient: Recipient) -> Connection? {
    guard let connection = connections[recipient.connection], connection.state.isCurrent(recipient.request)
    else {
      return nil
    }
    return connection
  }

  /// Sends a whole answer.
  /// - Returns: `false` if the connection no longer waits for it.
  private func answer(_ response: EndpointResponse, to recipient: Recipient) -> Bool {
    guard let connection = connection(recipient) else { return false }
    connection.state.answer(response, to: recipient.request, at: clock.now())
    advance(connection)
    return true
  }

  /// Sends the head of an answer.
  /// - Returns: whether its body is wanted.
  private func begin(_ response: EndpointResponse, to recipient: Recipient) -> Bool {
    guard let connection = connection(recipient) else { return false }
    connection.state.answer(response, to: recipient.request, at: clock.now())
    let isWanted = connection.state.isCurrent(recipient.request)
    advance(connection)
    return isWanted && !connection.isClosed
  }

  /// Sends a part of a body, and waits until there is room for more.
  /// - Returns: `false` if the connection is closed.
  private func write(_ bytes: [UInt8], to recipient: Recipient) async -> Bool {
    guard let connection = connection(recipient) else { return false }
    connection.state.bodyPart(bytes, of: recipient.request, at: clock.now())
    advance(connection)
    // A second producer of the same body, which there should not be, does not wait.
    guard !connection.isClosed, !connection.state.hasRoom, connection.producer == nil else {
      return !connection.isClosed
    }
    return await withCheckedContinuation { connection.producer = $0 }
  }

  private func endBody(of recipient: Recipient, isComplete: Bool) {
    guard let connection = connection(recipient) else { return }
    connection.state.bodyEnded(of: recipient.request, complete: isComplete, at: clock.now())
    advance(connection)
  }

  // MARK: Refusals

  /// Logs a refused request, but not each one of a flood.
  func log(_ status: EndpointStatus, _ reason: String, on connection: Connection, at time: EventTime) {
    guard let logRefusal, let suppressed = refusals.admit(at: time.instant) else { return }
    let peer = SocketAddress.peer(connection.descriptor)?.description ?? "a client that is gone"
    logRefusal(
      "refused \(peer.isEmpty ? "a local client" : peer): \(status.rawValue) \(reason)"
        + (suppressed > 0 ? " (and \(suppressed) more since the last line)" : ""))
  }
}

/// Limits the lines about refused requests: ten, and then one more every six seconds. A flood of bad requests must not
/// become a flood of lines.
package struct RefusalLog: Sendable {
  private static let burst = 10
  private static let interval = Duration.seconds(6)

  private var tokens = RefusalLog.burst
  private var lastRefill: ContinuousClock.Instant?
  private var suppressed = 0

  package init() {}

  /// - Returns: how many refusals were not logged before this one; `nil` if this one is not to be logged either.
  package mutating func admit(at instant: ContinuousClock.Instant) -> Int? {
    let last = lastRefill ?? instant
    let refills = Int(min(last.duration(to: instant) / Self.interval, Double(Self.burst)))
    if refills > 0 || lastRefill == nil {
      tokens = min(tokens + refills, Self.burst)
      lastRefill = refills == Self.burst ? instant : last + Self.interval * refills
    }
    guard tokens > 0 else {
      suppressed &+= 1
      return nil
    }
    tokens -= 1
    defer { suppressed = 0 }
    return suppressed
  }
}
