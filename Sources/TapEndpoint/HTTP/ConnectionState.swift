/// The sizes, depths and times of one connection.
package struct ConnectionLimits: Sendable, Hashable {
  package var parser = ParserLimits()
  /// From the first byte of a head to its last.
  package var headDeadline = Duration.seconds(5)
  /// From the last byte of a head to the last of its body.
  package var bodyDeadline = Duration.seconds(10)
  /// From one request, or from the begin of the connection, to the first byte of the next request.
  package var idleDeadline = Duration.seconds(75)
  /// From a request to its answer, and from one part of a streamed body to the next.
  package var answerDeadline = Duration.seconds(60)
  /// For every 64 KiB of output, and for what is less at its end.
  package var writeDeadline = Duration.seconds(10)
  /// Answers that may wait for their reader before the next request is parsed.
  package var pipelinedAnswers = 32

  package init() {}
}

/// The life of one connection as a state machine: bytes, answers and passed deadlines go in, actions come out. It
/// uses no socket, clock or lock: the event loop tells it of each event, and performs its actions until it waits.
package struct ConnectionState: Sendable {
  /// What the event loop does next.
  package enum Action: Sendable {
    /// Find the request's handler, and ``answer(_:to:at:)`` with the same number.
    case handle(EndpointRequest, id: UInt64)
    /// The answer to this request is no longer wanted.
    case cancel(id: UInt64)
    /// A request was refused, and its answer is in the output. For the log.
    case refused(RequestFailure)
    /// Send from the ``output``, then call ``wrote(_:at:)`` or ``writeBlocked()``.
    case write
    /// End the sending direction.
    case shutdownOutput
    /// Close the socket, in order or by a reset.
    case close(reset: Bool)
    /// Wait for the next event.
    case wait
  }

  /// The kinds of connections for the choice of the one to close when there is no room for another.
  package enum Activity: Int, Sendable, CaseIterable {
    /// Between requests.
    case idle
    /// Waiting for its client: to send its request, or to read its answer. A new connection does so too: if it were
    /// idle, a crowd of slow senders would have each new one closed before it can send. A slow reader does so too, for
    /// the same reason.
    case waiting
    /// A handler works.
    case answering
  }

  /// The order in which connections are closed when there is no room for another: the smallest first. Idle ones come
  /// before those that wait for their clients, and of these the one that has been so longest.
  package struct ClosingOrder: Sendable, Comparable {
    package let activity: Activity
    /// When the connection took up the activity.
    let begin: ContinuousClock.Instant

    package static func < (lhs: ClosingOrder, rhs: ClosingOrder) -> Bool {
      lhs.activity == rhs.activity ? lhs.begin < rhs.begin : lhs.activity.rawValue < rhs.activity.rawValue
    }
  }

  enum Phase {
    case receiving
    case answering(Exchange)
    case streaming(Exchange, remaining: Int?)
    /// All output is queued: send it, then linger.
    case closing
    /// RFC 9112, section 9.6: to close at once may destroy the answer before it is read. Only the sending
    /// direction is ended, and what still arrives is discarded for a while.
    case lingering
    case closed(reset: Bool)
  }

  /// The parts of a request that its answer depends on.
  struct Exchange: Sendable {
    /// Counts the requests of a connection, so that a late answer matches no other request.
    let id: UInt64
    let isHead: Bool
    let minorVersion: Int
    /// Whether the connection persists after the answer.
    var keepsAlive: Bool
  }

  enum Wait { case idle, head, body, answer, linger }

  /// How long a connection may linger, and how much it may receive meanwhile.
  static let lingerDeadline = Duration.seconds(2)
  static let lingerBytes = 1 << 18
  /// The output that must be sent before the next request is parsed, the step of progress that the write deadline
  /// is for, and the room for a streamed body.
  package static let outputStep = 65_536

  /// The input behind a request that is being answered from which on no more is read.
  static let inputLimit = 16_384

  let limits: ConnectionLimits
  var phase = Phase.receiving
  var parser: RequestParser
  var input: ArraySlice<UInt8> = []
  var hasInputEnded = false
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
  /// The request that the closing order is for.
  private var closingOrderRequest: UInt64 = 0

  /// Compares this connection, which waits for an event, with others.
  package private(set) var closingOrder: ClosingOrder
  /// The requests so far.
  package private(set) var requestCount: UInt64 = 0
  /// What is to be sent.
  package internal(set) var output = OutputQueue()

  package init(limits: ConnectionLimits, at time: EventTime) {
    self.limits = limits
    parser = RequestParser(limits: limits.parser)
    waitDeadline = time.instant + limits.idleDeadline
    closingOrder = ClosingOrder(activity: .waiting, begin: time.instant)
  }

  // MARK: Queries

  /// When ``deadlinePassed(at:)`` is to be called, unless an event comes before.
  package var deadline: ContinuousClock.Instant {
    writeDeadline.map { min($0, waitDeadline) } ?? waitDeadline
  }

  /// Whether bytes are to be read. While a request is being answered, they are, up to a bound: only reading shows
  /// that the client has gone.
  package var wantsInput: Bool {
    if hasInputEnded { return false }
    return switch phase {
    case .receiving: input.isEmpty
    case .answering, .streaming: input.count < Self.inputLimit
    case .lingering: true
    case .closing, .closed: false
    }
  }

  /// Whether ``writable()`` is to be called when the socket takes bytes again.
  package var wantsOutput: Bool { isWriteBlocked && !output.isEmpty }

  /// Whether there is room for more of a streamed body.
  package var hasRoom: Bool { output.count < Self.outputStep }

  /// Inlined, because else the whole state is copied for each request only to ask for this.
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

  // MARK: Actions

  /// The next action. To be called until it is ``Action/wait`` or ``Action/close(reset:)``.
  package mutating func nextAction(at time: EventTime) -> Action {
    if let id = cancelled {
      cancelled = nil
      return .cancel(id: id)
    }
    if case .receiving = phase, output.count < Self.outputStep, answersInOutput < limits.pipelinedAnswers,
      var request = nextRequest(at: time)
    {
      let exchange = Exchange(
        id: requestCount, isHead: request.method == .head, minorVersion: request.minorVersion,
        keepsAlive: request.keepsAlive)
      requestCount += 1
      phase = .answering(exchange)
      setWait(.answer, at: time)
      request.answerTime = min(ScrapeTimeout.answerTime(request) ?? .seconds(86_400), limits.answerDeadline)
      waitDeadline = time.instant + request.answerTime
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
      if !isWriteBlocked { return .write }
    case .receiving where hasInputEnded, .closing where hasInputEnded:
      phase = .closed(reset: false)
      return .close(reset: false)
    case .closing:
      phase = .lingering
      setWait(.linger, at: time)
      return .shutdownOutput
    case .receiving, .answering, .streaming, .lingering:
      break
    }
    // A client that sends a byte now and then for the same request begins nothing new.
    if closingOrder.activity != activity || closingOrderRequest != requestCount {
      closingOrder = ClosingOrder(activity: activity, begin: time.instant)
      closingOrderRequest = requestCount
    }
    return .wait
  }

  /// Parses what has arrived. A failure is answered here.
  private mutating func nextRequest(at time: EventTime) -> EndpointRequest? {
    while !input.isEmpty {
      switch parser.next(from: &input) {
      case .request(let request):
        if input.isEmpty { input = [] }
        return request
      case .continueExpected:
        // Not needed if the body is here already, but allowed (RFC 9110, section 10.1.1).
        append(ResponseEncoder.continue, at: time)
      case .failure(let failure):
        fail(failure, at: time)
        return nil
      case nil:
        input = []
      }
    }
    if hasInputEnded && !parser.isIdle {
      // RFC 9112, section 8.
      fail(.malformed("the request is incomplete"), at: time)
    } else if parser.isIdle {
      if isDraining && output.isEmpty { phase = .closed(reset: false) }
      if wait != .idle { setWait(.idle, at: time) }
    } else if parser.isInBody {
      if wait != .body { setWait(.body, at: time) }
    } else if wait != .head {
      setWait(.head, at: time)
    }
    return nil
  }
}
