import Dispatch

/// Requests to handlers, and their answers back.
extension EventLoop {
  func handle(_ request: EndpointRequest, _ id: UInt64, of client: Client, at moment: Moment) {
    if let refusal = gatekeeper.refusal(request) {
      log(refusal.status, "credentials", of: client, at: moment)
      client.connection.answer(refusal, to: id, at: moment)
      return
    }
    switch router.match(request) {
    case .refused(let response):
      client.connection.answer(response, to: id, at: moment)
    case .handler(.immediate(let handler)):
      let response = handler(request)
      guard case .stream = response.body else {
        return client.connection.answer(response, to: id, at: moment)
      }
      // The head was quick; its body takes its time like any other.
      guard admit(id, of: client, at: moment) else { return }
      let recipient = Recipient(client: client.key, request: id)
      client.task = Task { await self.run({ _ in response }, request, for: recipient) }
    case .handler(.deferred(let handler)):
      guard scrapesInFlight < limits.scrapesInFlight else {
        return refuse(id, of: client, "too many scrapes are being answered", at: moment)
      }
      scrapesInFlight += 1
      let recipient = Recipient(client: client.key, request: id)
      handler(request) { [weak self] response, isSent in
        guard let self else { return isSent(false) }
        executor.queue.async {
          self.assumeIsolated { loop in
            // Not before: what waits for a collector that hangs takes memory, and is bounded by this.
            loop.scrapesInFlight -= 1
            isSent(loop.answer(response, to: recipient))
          }
        }
      }
    case .handler(.asynchronous(let handler)):
      guard admit(id, of: client, at: moment) else { return }
      let recipient = Recipient(client: client.key, request: id)
      client.task = Task { await self.run(handler, request, for: recipient) }
    }
  }

  /// Gives a request a place, unless there are too many.
  private func admit(_ id: UInt64, of client: Client, at moment: Moment) -> Bool {
    // That of the request before, if they arrived together.
    freePlace(of: client)
    guard requestsInFlight < limits.appRequestsInFlight else {
      refuse(id, of: client, "too many requests are being answered", at: moment)
      return false
    }
    client.placedRequest = id
    requestsInFlight += 1
    return true
  }

  private func refuse(_ id: UInt64, of client: Client, _ reason: String, at moment: Moment) {
    client.connection.answer(.refusal(.serviceUnavailable, reason), to: id, at: moment)
  }

  /// Frees the place of a request that has ended: answered, given up at its deadline, or without a client. Its
  /// handler may still run.
  func freePlace(of client: Client) {
    guard let id = client.placedRequest, client.isClosed || !client.connection.isCurrent(id) else { return }
    client.placedRequest = nil
    requestsInFlight -= 1
  }

  /// Runs a handler outside of the loop, and brings its answer in.
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
    if await begin(response, to: recipient) {
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
  }

  /// A whole answer.
  /// - Returns: whether anybody waited for it.
  private func answer(_ response: EndpointResponse, to recipient: Recipient) -> Bool {
    guard let client = client(recipient) else { return false }
    client.connection.answer(response, to: recipient.request, at: clock.now())
    advance(client)
    return true
  }

  /// The head of an answer.
  /// - Returns: whether its body is wanted.
  private func begin(_ response: EndpointResponse, to recipient: Recipient) -> Bool {
    guard let client = client(recipient) else { return false }
    client.connection.answer(response, to: recipient.request, at: clock.now())
    let isWanted = client.connection.isCurrent(recipient.request)
    advance(client)
    return isWanted && !client.isClosed
  }

  /// - Returns: whether there is still somebody to write to. Waits until there is room for more.
  private func write(_ bytes: [UInt8], to recipient: Recipient) async -> Bool {
    guard let client = client(recipient) else { return false }
    client.connection.bodyPart(bytes, of: recipient.request, at: clock.now())
    advance(client)
    // A second producer of the same body, which there should not be, does not wait.
    guard !client.isClosed, !client.connection.hasRoom, client.producer == nil else {
      return !client.isClosed
    }
    return await withCheckedContinuation { client.producer = $0 }
  }

  private func endBody(of recipient: Recipient, isComplete: Bool) {
    guard let client = client(recipient) else { return }
    client.connection.bodyEnded(of: recipient.request, complete: isComplete, at: clock.now())
    advance(client)
  }
}
