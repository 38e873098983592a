/// One connection's life as a state machine: bytes, answers and passed deadlines go in, actions come out. It
/// knows no socket, clock or lock: the edge feeds it, and asks for the next action until there is none.
package struct Connection: Sendable {
  /// What the edge is to do next.
  package enum Action: Sendable {
    /// Find the request's handler, and ``answer(_:to:at:)`` with the same number.
    case handle(EndpointRequest, id: UInt64)
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
    /// It waits for its client: to send its request, or to read its answer. So does a new connection. Were that
    /// idle, a crowd of slow senders would have every newcomer thrown out before it can speak; and were slow
    /// readers apart, a crowd of them would.
    case waiting
    /// A handler works.
    case answering
  }

  enum Phase {
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

  enum Wait { case idle, head, body, answer, linger }

  /// What a connection may take after its end was said.
  static let lingerDeadline = Duration.seconds(2)
  static let lingerBytes = 1 << 18
  /// The output that must be left behind before the next request is looked at, the step of progress that the
  /// write deadline is for, and the room that a streamed body may fill.
  package static let outputStep = 65_536

  /// The input behind a request that is being answered from which on no more is read.
  static let inputLimit = 16_384

  let limits: ConnectionLimits
  var phase = Phase.receiving
  var parser: RequestParser
  var input: ArraySlice<UInt8> = []
  var hasInputEnded = false
  var requestCount: UInt64 = 0
  var answersInOutput = 0
  var lingeringBytes = 0
  var cancelled: UInt64?
  var failure: RequestFailure?
  var isDraining = false
  var isWriteBlocked = false
  var progress = 0
  var wait = Wait.idle
  var waitDeadline: ContinuousClock.Instant
  var writeDeadline: ContinuousClock.Instant?

  /// What is to be sent.
  package internal(set) var output = OutputQueue()

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

  /// Inlined, because else the whole connection is copied for each request only to ask for this.
  @inline(__always)
  package var activity: Activity {
    switch phase {
    case .answering, .streaming: output.isEmpty ? .answering : .waiting
    case .receiving where output.isEmpty && parser.isIdle && input.isEmpty && requestCount > 0: .idle
    case .receiving, .closing, .lingering, .closed: .waiting
    }
  }

  /// Whether this is the request that is being answered.
  package func isCurrent(_ id: UInt64) -> Bool {
    switch phase {
    case .answering(let exchange), .streaming(let exchange, _): exchange.id == id
    default: false
    }
  }

  mutating func append(_ bytes: [UInt8], at moment: Moment) {
    output.append(bytes)
    if writeDeadline == nil, !output.isEmpty { writeDeadline = moment.instant + limits.writeDeadline }
  }

  mutating func finish(keepsAlive: Bool) {
    answersInOutput += 1
    phase = keepsAlive ? .receiving : .closing
    if !keepsAlive { input = [] }
  }

  /// Answers what is no request, and ends the connection.
  mutating func fail(_ failure: RequestFailure, at moment: Moment) {
    self.failure = failure
    let response = EndpointResponse.refusal(failure.status, failure.reason)
    let framing = ResponseEncoder.framing(response, minorVersion: 1)
    append(
      ResponseEncoder.head(
        response, framing: framing, minorVersion: 1, keepsAlive: false, date: moment.date),
      at: moment)
    if case .bytes(let bytes) = response.body { append(bytes, at: moment) }
    finish(keepsAlive: false)
  }

  mutating func setWait(_ wait: Wait, at moment: Moment) {
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
