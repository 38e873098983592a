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
      guard admit(id, of: client, at: moment) else { return }
      let recipient = Recipient(client: client.key, request: id)
      handler(request) { [weak self] response, isSent in
        guard let self else { return isSent(false) }
        executor.queue.async { self.assumeIsolated { isSent($0.answer(response, to: recipient)) } }
      }
    case .handler(.asynchronous(let handler)):
      guard admit(id, of: client, at: moment) else { return }
      let recipient = Recipient(client: client.key, request: id)
      client.task = Task { await self.run(handler, request, for: recipient) }
    }
  }

  /// Counts a handler that takes its time, unless there are too many.
  private func admit(_ id: UInt64, of client: Client, at moment: Moment) -> Bool {
    guard requestsInFlight < limits.requestsInFlight else {
      let response = EndpointResponse.refusal(.serviceUnavailable, "too many requests are being answered")
      client.connection.answer(response, to: id, at: moment)
      return false
    }
    requestsInFlight += 1
    return true
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
    } else {
      await handlerEnded()
    }
  }

  private func handlerEnded() {
    requestsInFlight -= 1
  }

  /// A whole answer, and the end of its handler.
  /// - Returns: whether anybody waited for it.
  private func answer(_ response: EndpointResponse, to recipient: Recipient) -> Bool {
    handlerEnded()
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
    handlerEnded()
    guard let client = client(recipient) else { return }
    client.connection.bodyEnded(of: recipient.request, complete: isComplete, at: clock.now())
    advance(client)
  }
}
