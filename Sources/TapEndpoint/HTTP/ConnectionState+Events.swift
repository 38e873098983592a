/// The events of the socket, the clock, the endpoint and the handler.
extension ConnectionState {
  // MARK: The socket

  /// Bytes have arrived.
  package mutating func received(_ bytes: ArraySlice<UInt8>) {
    switch phase {
    case .lingering:
      lingeringBytes += bytes.count
      if lingeringBytes > Self.lingerBytes { phase = .closed(reset: true) }
    case .closing, .closed:
      break
    case .receiving, .answering:
      input = ArraySlice(Array(input) + bytes)
    }
  }

  /// The client will send nothing more. It may still read (RFC 9112, section 9.6).
  package mutating func inputEnded() {
    hasInputEnded = true
    if case .lingering = phase { phase = .closed(reset: false) }
  }

  /// The socket has failed: the client has gone.
  package mutating func failed() {
    phase = .closed(reset: true)
  }

  /// That many bytes of the output were sent.
  package mutating func wrote(_ count: Int, at time: EventTime) {
    output.removeFirst(count)
    progress += count
    if output.isEmpty {
      writeDeadline = nil
    } else if progress >= Self.outputStep {
      writeDeadline = time.instant + limits.writeDeadline
      progress = 0
    }
  }

  /// The socket takes no more for now.
  package mutating func writeBlocked() { isWriteBlocked = true }

  /// The socket takes bytes again.
  package mutating func writable() { isWriteBlocked = false }

  // MARK: The clock and the endpoint

  /// A deadline may have passed.
  package mutating func deadlinePassed(at time: EventTime) {
    guard deadline <= time.instant else { return }
    guard writeDeadline == nil else {
      phase = .closed(reset: true)
      return
    }
    switch (wait, phase) {
    case (.head, .receiving):
      fail(.init(.requestTimeout, "the head took too long"), at: time)
    case (.body, .receiving):
      fail(.init(.requestTimeout, "the body took too long"), at: time)
    case (.answer, .answering(let exchange)):
      answer(.refusal(.serviceUnavailable, "the answer took too long"), to: exchange.id, at: time)
    default:
      phase = .closed(reset: false)
    }
  }

  /// The endpoint is shutting down: an idle connection ends now, any other behind the answer that is due.
  package mutating func drain() {
    isDraining = true
  }

  // MARK: The handler

  /// The handler has answered. An answer to a request that no longer waits for it is ignored.
  package mutating func answer(_ response: EndpointResponse, to id: UInt64, at time: EventTime) {
    guard case .answering(let exchange) = phase, exchange.id == id else { return }
    guard !response.resetsConnection else {
      phase = .closed(reset: true)
      return
    }
    let isFinal = (200...999).contains(response.status.rawValue)
    send(
      isFinal ? response : .refusal(.internalServerError, "the handler's status is no final one"),
      to: exchange,
      at: time)
  }

  /// Answers bytes that are no request, and ends the connection.
  mutating func fail(_ failure: RequestParser.Failure, at time: EventTime) {
    self.failure = failure
    let exchange = Exchange(id: requestCount, isHead: false, minorVersion: 1, keepsAlive: false)
    send(.refusal(failure.status, failure.reason), to: exchange, at: time)
  }

  private mutating func send(_ response: EndpointResponse, to exchange: Exchange, at time: EventTime) {
    let keepsAlive = exchange.keepsAlive && !response.closesConnection && !isDraining
    output = UnsentBytes(
      head: ResponseEncoder.head(
        response, minorVersion: exchange.minorVersion, keepsAlive: keepsAlive, date: time.date),
      body: exchange.isHead || !response.status.allowsBody ? [] : response.body)
    progress = 0
    writeDeadline = time.instant + limits.writeDeadline
    phase = keepsAlive ? .receiving : .closing
    if !keepsAlive { input = [] }
  }
}
