/// The life of one connection as a state machine: bytes, answers and passed deadlines go in, actions come out. It
/// uses no socket, clock or lock: the event loop tells it of each event, and performs its actions until it waits.
package struct ConnectionState: Sendable {
  /// What the event loop does next.
  package enum Action: Sendable {
    /// Find the request's handler, and ``answer(_:to:at:)`` with the same number.
    case handle(EndpointRequest, id: UInt64)
    /// A request was refused, and its answer is in the output. For the log.
    case refused(RequestParser.Failure)
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
  package enum Activity: Int, Sendable {
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
      (lhs.activity.rawValue, lhs.begin) < (rhs.activity.rawValue, rhs.begin)
    }
  }

  enum Phase {
    case receiving
    case answering(Exchange)
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
    let keepsAlive: Bool
  }

  enum Wait { case idle, head, body, answer, linger }

  /// How long a connection may linger, and how much it may receive meanwhile.
  static let lingerDeadline = Duration.seconds(2)
  static let lingerBytes = 1 << 18
  /// The step of progress that the write deadline is for.
  static let outputStep = 65_536
  /// The input behind a request that is being answered from which on no more is read.
  static let inputLimit = 16_384

  let limits: Endpoint.Configuration.Limits
  var phase = Phase.receiving
  private var parser: RequestParser
  var input: ArraySlice<UInt8> = []
  var hasInputEnded = false
  var lingeringBytes = 0
  var failure: RequestParser.Failure?
  var isDraining = false
  var isWriteBlocked = false
  var progress = 0
  private(set) var wait = Wait.idle
  private(set) var waitDeadline: ContinuousClock.Instant
  var writeDeadline: ContinuousClock.Instant?
  /// The request that the closing order is for.
  private var closingOrderRequest: UInt64 = 0

  /// Compares this connection, which waits for an event, with others.
  package private(set) var closingOrder: ClosingOrder
  /// The requests so far.
  package private(set) var requestCount: UInt64 = 0
  /// What is to be sent.
  package internal(set) var output = UnsentBytes()

  package init(limits: Endpoint.Configuration.Limits, at time: EventTime) {
    self.limits = limits
    parser = RequestParser(limits: limits)
    waitDeadline = time.instant + limits.idleDeadline
    closingOrder = ClosingOrder(activity: .waiting, begin: time.instant)
  }

  // MARK: Queries

  /// When ``deadlinePassed(at:)`` is to be called, unless an event comes before. While there is output, only its
  /// reader is waited for.
  package var deadline: ContinuousClock.Instant { writeDeadline ?? waitDeadline }

  /// Whether bytes are to be read. While a request is being answered, they are, up to a bound: only reading shows
  /// that the client has gone.
  package var wantsInput: Bool {
    if hasInputEnded { return false }
    return switch phase {
    case .receiving: input.isEmpty
    case .answering: input.count < Self.inputLimit
    case .lingering: true
    case .closing, .closed: false
    }
  }

  /// Whether ``writable()`` is to be called when the socket takes bytes again.
  package var wantsOutput: Bool { isWriteBlocked && !output.isEmpty }

  /// Inlined, because else the whole state is copied for each request only to ask for this.
  @inline(__always)
  package var activity: Activity {
    switch phase {
    case .answering: .answering
    case .receiving where output.isEmpty && parser.isIdle && input.isEmpty && requestCount > 0: .idle
    case .receiving, .closing, .lingering, .closed: .waiting
    }
  }

  /// Whether this is the request that is being answered.
  package func isCurrent(_ id: UInt64) -> Bool {
    if case .answering(let exchange) = phase { exchange.id == id } else { false }
  }

  // MARK: Actions

  /// The next action. To be called until it is ``Action/wait`` or ``Action/close(reset:)``.
  package mutating func nextAction(at time: EventTime) -> Action {
    // RFC 9112, section 9.3.2: pipelined requests are answered in their order. The next one is parsed when the answer to
    // the one before is sent, so that a connection owes no more than one answer.
    if case .receiving = phase, output.isEmpty, var request = nextRequest(at: time) {
      let exchange = Exchange(
        id: requestCount, isHead: request.method == .head, minorVersion: request.minorVersion,
        keepsAlive: request.keepsAlive)
      requestCount += 1
      phase = .answering(exchange)
      setWait(.answer, at: time)
      request.answerTime = request.answerTime(within: limits.answerDeadline)
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
    case .receiving, .answering, .lingering:
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
    switch parser.next(from: &input) {
    case .request(let request):
      if input.isEmpty { input = [] }
      return request
    case .failure(let failure):
      fail(failure, at: time)
      return nil
    case nil:
      break
    }
    if hasInputEnded && !parser.isIdle {
      // RFC 9112, section 8.
      fail(.malformed("the request is incomplete"), at: time)
    } else if parser.isIdle, isDraining {
      phase = .closed(reset: false)
    } else {
      let next: Wait = parser.isIdle ? .idle : parser.isInBody ? .body : .head
      if wait != next { setWait(next, at: time) }
    }
    return nil
  }

  private mutating func setWait(_ wait: Wait, at time: EventTime) {
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
