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
    case .receiving, .answering, .streaming:
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
      progress = 0
      answersInOutput = 0
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
    if let writeDeadline, writeDeadline <= time.instant {
      phase = .closed(reset: true)
      return
    }
    guard waitDeadline <= time.instant else { return }
    switch (wait, phase) {
    case (.idle, .receiving) where !output.isEmpty:
      // Not idle: the last answer is still being sent, and the write deadline is for it.
      setWait(.idle, at: time)
    case (.head, .receiving):
      fail(RequestFailure(status: .requestTimeout, reason: "the head took too long"), at: time)
    case (.body, .receiving):
      fail(RequestFailure(status: .requestTimeout, reason: "the body took too long"), at: time)
    case (.answer, .answering(let exchange)):
      cancelled = exchange.id
      answer(.refusal(.serviceUnavailable, "the answer took too long"), to: exchange.id, at: time)
    case (_, .closing):
      // What is left to send has the write deadline.
      setWait(.linger, at: time)
    case (_, .streaming):
      phase = .closed(reset: true)
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
    guard case .answering(var exchange) = phase, exchange.id == id else { return }
    guard !response.resetsConnection else {
      phase = .closed(reset: true)
      return
    }
    var response = response
    if !(200...999).contains(response.status.rawValue) {
      response = .refusal(.internalServerError, "the handler's status is no final one")
    }
    let framing = ResponseEncoder.framing(response, minorVersion: exchange.minorVersion)
    if response.closesConnection || isDraining || framing == .close && !exchange.isHead {
      exchange.keepsAlive = false
    }
    append(
      ResponseEncoder.head(
        response, framing: framing, minorVersion: exchange.minorVersion, keepsAlive: exchange.keepsAlive,
        date: time.date),
      at: time)
    let isBodySent = !exchange.isHead && framing != .none
    switch response.body {
    case .bytes(let bytes):
      if isBodySent { append(bytes, at: time) }
      finish(keepsAlive: exchange.keepsAlive)
    case .stream where isBodySent:
      let remaining: Int? = if case .length(let length) = framing { length } else { nil }
      phase = .streaming(exchange, remaining: remaining)
    case .stream:
      finish(keepsAlive: exchange.keepsAlive)
    }
  }

  /// A part of a streamed body.
  package mutating func bodyPart(_ bytes: [UInt8], of id: UInt64, at time: EventTime) {
    guard case .streaming(let exchange, let remaining) = phase, exchange.id == id, !bytes.isEmpty else {
      return
    }
    setWait(.answer, at: time)
    guard let remaining else {
      append(exchange.minorVersion > 0 ? ResponseEncoder.chunk(bytes) : bytes, at: time)
      return
    }
    guard bytes.count <= remaining else {
      phase = .closed(reset: true)
      return
    }
    append(bytes, at: time)
    phase = .streaming(exchange, remaining: remaining - bytes.count)
  }

  /// A streamed body is complete, or has failed.
  package mutating func bodyEnded(of id: UInt64, complete: Bool, at time: EventTime) {
    guard case .streaming(let exchange, let remaining) = phase, exchange.id == id else { return }
    guard complete, remaining ?? 0 == 0 else {
      phase = .closed(reset: true)
      return
    }
    if remaining == nil, exchange.minorVersion > 0 { append(ResponseEncoder.lastChunk, at: time) }
    finish(keepsAlive: exchange.keepsAlive)
  }

  // MARK: Transitions

  mutating func append(_ bytes: [UInt8], at time: EventTime) {
    output.append(bytes)
    if writeDeadline == nil, !output.isEmpty { writeDeadline = time.instant + limits.writeDeadline }
  }

  /// The answer is in the output.
  private mutating func finish(keepsAlive: Bool) {
    answersInOutput += 1
    phase = keepsAlive ? .receiving : .closing
    if !keepsAlive { input = [] }
  }

  /// Answers bytes that are no request, and ends the connection.
  mutating func fail(_ failure: RequestFailure, at time: EventTime) {
    self.failure = failure
    let response = EndpointResponse.refusal(failure.status, failure.reason)
    let framing = ResponseEncoder.framing(response, minorVersion: 1)
    append(
      ResponseEncoder.head(response, framing: framing, minorVersion: 1, keepsAlive: false, date: time.date),
      at: time)
    if case .bytes(let bytes) = response.body { append(bytes, at: time) }
    finish(keepsAlive: false)
  }

  mutating func setWait(_ wait: Wait, at time: EventTime) {
    self.wait = wait
    let duration =
      switch wait {
      case .idle: limits.idleDeadline
      case .head: limits.headDeadline
      case .body: limits.bodyDeadline
      case .answer: limits.answerDeadline
      case .linger: Self.lingerDeadline
      }
    waitDeadline = time.instant + duration
  }
}
