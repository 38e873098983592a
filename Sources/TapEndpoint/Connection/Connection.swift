/// One connection's life as a state machine: bytes, answers and passed deadlines go in, actions come out. It
/// knows no socket, clock or lock: the edge feeds it, and asks for the next action until there is none.
package struct Connection: Sendable {
  /// What the edge is to do next.
  package enum Action: Sendable {
    /// Find the request's handler, and ``answer(_:to:at:)`` with the same number.
    case handle(HTTPRequest, id: UInt64)
    /// The answer to this request is not wanted any more.
    case cancel(id: UInt64)
    /// Nothing, but know that a request was refused. The answer is on its way.
    case refused(RequestFailure)
    /// Send from the ``output``, and tell ``wrote(_:at:)`` or ``writeBlocked()``.
    case write
    /// End the sending direction.
    case shutdownOutput
    /// Close the socket: in order, or by a reset.
    case close(reset: Bool)
    /// Nothing until the next event.
    case wait
  }

  /// What a connection does, as far as it matters when one has to go.
  package enum Activity: Int, Sendable, CaseIterable {
    /// Between requests.
    case idle
    /// A request is arriving, or the connection is about to end.
    case receiving
    /// An answer waits for its reader.
    case writing
    /// A handler works.
    case answering
  }

  private enum Phase {
    case receiving
    case answering(Exchange)
    case streaming(Exchange, remaining: Int?)
    /// All has been said: send it, then linger.
    case closing
    /// RFC 9112, section 9.6: to close at once may destroy the answer before it is read. Only the sending
    /// direction is ended, and what still arrives is thrown away for a while.
    case lingering
    case closed(reset: Bool)
  }

  private enum Wait { case idle, head, body, answer, linger }

  /// What a connection may take after its end was said.
  private static let lingerDeadline = Duration.seconds(2)
  private static let lingerBytes = 1 << 18
  /// The output that must be left behind before the next request is looked at, the step of progress that the
  /// write deadline is for, and the room that a streamed body may fill.
  package static let outputStep = 65_536

  /// The input behind a request that is being answered from which on no more is read.
  private static let inputLimit = 16_384

  private let limits: ConnectionLimits
  private var phase = Phase.receiving
  private var parser: RequestParser
  private var input: ArraySlice<UInt8> = []
  private var hasInputEnded = false
  private var requestCount: UInt64 = 0
  private var answersInOutput = 0
  private var lingeringBytes = 0
  private var cancelled: UInt64?
  private var failure: RequestFailure?
  private var isDraining = false
  private var isWriteBlocked = false
  private var progress = 0
  private var wait = Wait.idle
  private var waitDeadline: ContinuousClock.Instant
  private var writeDeadline: ContinuousClock.Instant?

  /// What is to be sent.
  package private(set) var output = OutputQueue()

  package init(limits: ConnectionLimits, at moment: Moment) {
    self.limits = limits
    parser = RequestParser(limits: limits.parser)
    waitDeadline = moment.instant + limits.idleDeadline
  }

  // MARK: What the edge asks

  /// When ``deadlinePassed(at:)`` must be told, unless something happens before.
  package var deadline: ContinuousClock.Instant {
    writeDeadline.map { min($0, waitDeadline) } ?? waitDeadline
  }

  /// Whether bytes should be read. While a request is answered, they are, up to a bound: only so does one hear
  /// that the client is gone.
  package var wantsInput: Bool {
    if hasInputEnded { return false }
    return switch phase {
    case .receiving: input.isEmpty
    case .answering, .streaming: input.count < Self.inputLimit
    case .lingering: true
    case .closing, .closed: false
    }
  }

  /// Whether to tell when the socket takes bytes again.
  package var wantsOutput: Bool { isWriteBlocked && !output.isEmpty }

  /// Whether a streamed body may go on.
  package var hasRoom: Bool { output.count < Self.outputStep }

  package var activity: Activity {
    switch phase {
    case .answering, .streaming: output.isEmpty ? .answering : .writing
    case .receiving where !output.isEmpty: .writing
    case .receiving where parser.isIdle && input.isEmpty: .idle
    case .receiving, .closing, .lingering, .closed: .receiving
    }
  }

  /// Whether this is the request that is being answered.
  package func isCurrent(_ id: UInt64) -> Bool {
    switch phase {
    case .answering(let exchange), .streaming(let exchange, _): exchange.id == id
    default: false
    }
  }

  // MARK: The next action

  package mutating func nextAction(at moment: Moment) -> Action {
    if let id = cancelled {
      cancelled = nil
      return .cancel(id: id)
    }
    if case .receiving = phase, output.count < Self.outputStep, answersInOutput < limits.pipelinedAnswers,
      let request = nextRequest(at: moment)
    {
      let exchange = Exchange(id: requestCount, request)
      requestCount += 1
      phase = .answering(exchange)
      setWait(.answer, at: moment)
      if let time = ScrapeTimeout.answerTime(request) {
        waitDeadline = min(waitDeadline, moment.instant + time)
      }
      return .handle(request, id: exchange.id)
    }
    if let failure {
      self.failure = nil
      return .refused(failure)
    }
    switch phase {
    case .closed(let reset):
      return .close(reset: reset)
    case _ where !output.isEmpty:
      return isWriteBlocked ? .wait : .write
    case .receiving where hasInputEnded:
      phase = .closed(reset: false)
      return .close(reset: false)
    case .closing where hasInputEnded:
      phase = .closed(reset: false)
      return .close(reset: false)
    case .closing:
      phase = .lingering
      setWait(.linger, at: moment)
      return .shutdownOutput
    case .receiving, .answering, .streaming, .lingering:
      return .wait
    }
  }

  /// Parses what has arrived. A failure is answered here.
  private mutating func nextRequest(at moment: Moment) -> HTTPRequest? {
    while !input.isEmpty {
      switch parser.next(from: &input) {
      case .request(let request):
        if input.isEmpty { input = [] }
        return request
      case .continueExpected:
        // Not needed if the body is here already, but allowed (RFC 9110, section 10.1.1).
        append(ResponseEncoder.continue, at: moment)
      case .failure(let failure):
        fail(failure, at: moment)
        return nil
      case nil:
        input = []
      }
    }
    if hasInputEnded && !parser.isIdle {
      // RFC 9112, section 8.
      fail(.malformed("the request is incomplete"), at: moment)
    } else if parser.isIdle {
      if isDraining && output.isEmpty { phase = .closed(reset: false) }
      if wait != .idle { setWait(.idle, at: moment) }
    } else if parser.isInBody {
      if wait != .body { setWait(.body, at: moment) }
    } else if wait != .head {
      setWait(.head, at: moment)
    }
    return nil
  }

  // MARK: Events of the socket

  /// Bytes arrived.
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

  /// The socket failed: nobody is left to talk to.
  package mutating func failed() {
    phase = .closed(reset: true)
  }

  /// That many bytes of the output were sent.
  package mutating func wrote(_ count: Int, at moment: Moment) {
    output.removeFirst(count)
    progress += count
    if output.isEmpty {
      writeDeadline = nil
      progress = 0
      answersInOutput = 0
    } else if progress >= Self.outputStep {
      writeDeadline = moment.instant + limits.writeDeadline
      progress = 0
    }
  }

  /// The socket takes no more for now.
  package mutating func writeBlocked() { isWriteBlocked = true }

  /// The socket takes bytes again.
  package mutating func writable() { isWriteBlocked = false }

  // MARK: Events of the handler

  /// The handler's answer. An answer to a request that is no longer waited for is ignored.
  package mutating func answer(_ response: HTTPResponse, to id: UInt64, at moment: Moment) {
    guard case .answering(let exchange) = phase, exchange.id == id else { return }
    guard !response.resetsConnection else {
      phase = .closed(reset: true)
      return
    }
    var response = response
    if !(200...999).contains(response.status.rawValue) {
      response = .refusal(.internalServerError, "the handler's status is no final one")
    }
    let framing = ResponseEncoder.framing(response, minorVersion: exchange.minorVersion)
    let keepsAlive =
      exchange.keepsAlive && !response.closesConnection && !isDraining
      && (framing != .close || exchange.isHead)
    append(
      ResponseEncoder.head(
        response, framing: framing, minorVersion: exchange.minorVersion, keepsAlive: keepsAlive,
        date: moment.date),
      at: moment)
    let isBodySent = !exchange.isHead && framing != .none
    switch response.body {
    case .bytes(let bytes):
      if isBodySent { append(bytes, at: moment) }
      finish(keepsAlive: keepsAlive)
    case .stream where isBodySent:
      let remaining: Int? = if case .length(let length) = framing { length } else { nil }
      phase = .streaming(exchange.keepingAlive(keepsAlive), remaining: remaining)
    case .stream:
      finish(keepsAlive: keepsAlive)
    }
  }

  /// A part of a streamed body.
  package mutating func bodyPart(_ bytes: [UInt8], of id: UInt64, at moment: Moment) {
    guard case .streaming(let exchange, let remaining) = phase, exchange.id == id, !bytes.isEmpty else {
      return
    }
    setWait(.answer, at: moment)
    guard let remaining else {
      append(exchange.minorVersion > 0 ? ResponseEncoder.chunk(bytes) : bytes, at: moment)
      return
    }
    guard bytes.count <= remaining else {
      phase = .closed(reset: true)
      return
    }
    append(bytes, at: moment)
    phase = .streaming(exchange, remaining: remaining - bytes.count)
  }

  /// A streamed body is complete, or has failed.
  package mutating func bodyEnded(of id: UInt64, complete: Bool, at moment: Moment) {
    guard case .streaming(let exchange, let remaining) = phase, exchange.id == id else { return }
    guard complete, remaining ?? 0 == 0 else {
      phase = .closed(reset: true)
      return
    }
    if remaining == nil, exchange.minorVersion > 0 { append(ResponseEncoder.lastChunk, at: moment) }
    finish(keepsAlive: exchange.keepsAlive)
  }

  // MARK: Events of the clock and of the endpoint

  /// A deadline may have passed.
  package mutating func deadlinePassed(at moment: Moment) {
    if let writeDeadline, writeDeadline <= moment.instant {
      phase = .closed(reset: true)
      return
    }
    guard waitDeadline <= moment.instant else { return }
    switch (wait, phase) {
    case (.idle, .receiving) where !output.isEmpty:
      // Not idle: the last answer is still on its way, and the write deadline is for it.
      setWait(.idle, at: moment)
    case (.head, .receiving):
      fail(RequestFailure(status: .requestTimeout, reason: "the head took too long"), at: moment)
    case (.body, .receiving):
      fail(RequestFailure(status: .requestTimeout, reason: "the body took too long"), at: moment)
    case (.answer, .answering(let exchange)):
      cancelled = exchange.id
      answer(.refusal(.serviceUnavailable, "the answer took too long"), to: exchange.id, at: moment)
    case (_, .closing):
      // What is left to send has the write deadline.
      setWait(.linger, at: moment)
    case (_, .streaming):
      phase = .closed(reset: true)
    default:
      phase = .closed(reset: false)
    }
  }

  /// The endpoint is shutting down: an idle connection ends now, another one behind the answer that is due.
  package mutating func drain() {
    isDraining = true
  }

  // MARK: Parts of the above

  private mutating func append(_ bytes: [UInt8], at moment: Moment) {
    output.append(bytes)
    if writeDeadline == nil, !output.isEmpty { writeDeadline = moment.instant + limits.writeDeadline }
  }

  private mutating func finish(keepsAlive: Bool) {
    answersInOutput += 1
    phase = keepsAlive ? .receiving : .closing
    if !keepsAlive { input = [] }
  }

  /// Answers what is no request, and ends the connection.
  private mutating func fail(_ failure: RequestFailure, at moment: Moment) {
    self.failure = failure
    let response = HTTPResponse.refusal(failure.status, failure.reason)
    let framing = ResponseEncoder.framing(response, minorVersion: 1)
    append(
      ResponseEncoder.head(
        response, framing: framing, minorVersion: 1, keepsAlive: false, date: moment.date),
      at: moment)
    if case .bytes(let bytes) = response.body { append(bytes, at: moment) }
    finish(keepsAlive: false)
  }

  private mutating func setWait(_ wait: Wait, at moment: Moment) {
    self.wait = wait
    let duration =
      switch wait {
      case .idle: limits.idleDeadline
      case .head: limits.headDeadline
      case .body: limits.bodyDeadline
      case .answer: limits.answerDeadline
      case .linger: Self.lingerDeadline
      }
    waitDeadline = moment.instant + duration
  }
}
