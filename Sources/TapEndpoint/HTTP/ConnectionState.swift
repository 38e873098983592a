/// The life of one connection as a state machine: bytes, answers and passed deadlines go in, actions come
/// out. It uses no socket, clock or lock. The event loop reports each event, and performs actions until the
/// state waits.
package struct ConnectionState: Sendable {
  package enum Action: Sendable {
    /// Find the request's handler, and ``answer(_:to:at:)`` with the same number.
    case handle(EndpointRequest, id: UInt64)
    /// A request was refused, and its answer is in the output. For the log.
    case refused(RequestParser.Failure)
    /// Send from the ``output``, then call ``wrote(_:at:)`` or set ``isWriteBlocked``.
    case write
    /// End the sending direction.
    case shutdownOutput
    /// Close the socket, in order or by a reset.
    case close(reset: Bool)
    /// Wait for the next event: bytes if `input`, room for output if `output`, the deadline.
    case wait(input: Bool, output: Bool, until: ContinuousClock.Instant)
  }

  /// The kinds of connections for the choice of the one to close when there is no room for another.
  package enum Activity: Int, Sendable {
    /// Between requests.
    case idle
    /// Waiting for its client to send its request or to read its answer. So is a new connection: if it were
    /// idle, a crowd of slow senders would have each new one closed before it can send.
    case waiting
    /// A handler works.
    case answering
  }

  private enum Phase {
    case receiving
    case answering(CurrentRequest)
    /// All output is queued: send it, then linger.
    case closing
    /// RFC 9112, section 9.6: closing at once may destroy the answer before it is read. Only the sending
    /// direction is ended, and what still arrives is discarded for a while.
    case lingering
    case closed(reset: Bool)
  }

  /// The parts of a request that its answer depends on.
  private struct CurrentRequest: Sendable {
    /// Counts the requests of a connection, so that a late answer matches no other request.
    let id: UInt64
    let isHead: Bool
    let minorVersion: Int
    let keepsAlive: Bool
  }

  private enum Wait { case idle, head, answer, linger }

  /// How long a connection may linger, and how much it may receive meanwhile.
  private static let lingerTimeout = Duration.seconds(2)
  private static let lingerBytes = 1 << 18
  /// The step of progress that the write deadline is for.
  private static let outputStep = 65_536
  /// No more input is read while a request is being answered and so much is waiting behind it.
  private static let inputLimit = 16_384

  private let limits: Endpoint.Configuration.Limits
  private var phase = Phase.receiving
  private var parser: RequestParser
  private var input: ArraySlice<UInt8> = []
  private var hasInputEnded = false
  private var lingeringBytes = 0
  private var failure: RequestParser.Failure?
  private var isDraining = false
  private var progress = 0
  private var wait = Wait.idle
  private var waitDeadline: ContinuousClock.Instant
  private var writeDeadline: ContinuousClock.Instant?
  private var requestCount: UInt64 = 0

  /// Whether the socket takes no more bytes for now.
  package var isWriteBlocked = false
  /// The activity of the wait, the request that it is for, and since when.
  private var waiting: (activity: Activity, request: UInt64, since: ContinuousClock.Instant)
  package private(set) var output = UnsentBytes()

  package init(limits: Endpoint.Configuration.Limits, at time: EventTime) {
    self.limits = limits
    parser = RequestParser(limits: limits)
    waitDeadline = time.instant + limits.idleTimeout
    waiting = (.waiting, 0, time.instant)
  }

  // MARK: Queries

  /// When to call ``deadlinePassed(at:)``, unless an event comes before. With output, it waits only for the
  /// reader.
  package var deadline: ContinuousClock.Instant { writeDeadline ?? waitDeadline }

  /// Whether to read bytes. While a request is being answered, they are read up to a bound: that shows that a
  /// client has left.
  package var wantsInput: Bool {
    if hasInputEnded { return false }
    return switch phase {
    case .receiving: input.isEmpty
    case .answering: input.count < Self.inputLimit
    case .lingering: true
    case .closing, .closed: false
    }
  }

  /// Whether to reset ``isWriteBlocked`` when the socket takes bytes again.
  package var wantsOutput: Bool { isWriteBlocked && !output.isEmpty }

  /// Inlined, because otherwise each request copies the whole state to read this.
  @inline(__always) package var activity: Activity {
    switch phase {
    case .answering: .answering
    case .receiving where output.isEmpty && parser.isIdle && input.isEmpty && requestCount > 0: .idle
    case .receiving, .closing, .lingering, .closed: .waiting
    }
  }

  /// The order in which connections are closed when there is no room for another, the smallest first: idle
  /// ones before waiting ones, each by how long they have been so.
  package var closingOrder: (activity: Int, since: ContinuousClock.Instant) {
    (waiting.activity.rawValue, waiting.since)
  }

  package func isCurrent(_ id: UInt64) -> Bool {
    if case .answering(let request) = phase { request.id == id } else { false }
  }

  // MARK: The socket

  package mutating func received(_ bytes: ArraySlice<UInt8>) {
    switch phase {
    case .lingering:
      lingeringBytes += bytes.count
      if lingeringBytes > Self.lingerBytes { phase = .closed(reset: true) }
    case .closing, .closed: break
    case .receiving, .answering: input = ArraySlice(Array(input) + bytes)
    }
  }

  /// The client will send nothing more. It may still read (RFC 9112, section 9.6).
  package mutating func inputEnded() {
    hasInputEnded = true
    if case .lingering = phase { phase = .closed(reset: false) }
  }

  package mutating func failed() { phase = .closed(reset: true) }

  package mutating func wrote(_ count: Int, at time: EventTime) {
    output.removeFirst(count)
    progress += count
    if output.isEmpty {
      writeDeadline = nil
    } else if progress >= Self.outputStep {
      writeDeadline = time.instant + limits.writeTimeout
      progress = 0
    }
  }

  // MARK: The clock and the endpoint

  package mutating func deadlinePassed(at time: EventTime) {
    guard deadline <= time.instant else { return }
    switch (wait, phase) {
    case _ where writeDeadline != nil: phase = .closed(reset: true)
    case (.head, .receiving): fail(.init(408, "the head took too long"), at: time)
    case (.answer, .answering(let request)):
      answer(.refusal(503, "the answer took too long"), to: request.id, at: time)
    default: phase = .closed(reset: false)
    }
  }

  /// The endpoint is shutting down: an idle connection ends now, any other behind the answer that is due.
  package mutating func drain() { isDraining = true }

  // MARK: The handler

  /// The handler has answered. An answer to a request that no longer waits for it is ignored.
  package mutating func answer(_ response: EndpointResponse, to id: UInt64, at time: EventTime) {
    guard case .answering(let request) = phase, request.id == id else { return }
    send(response, to: request, at: time)
  }

  /// Refuses bytes that are no request, and ends the connection.
  private mutating func fail(_ failure: RequestParser.Failure, at time: EventTime) {
    self.failure = failure
    let none = CurrentRequest(id: requestCount, isHead: false, minorVersion: 1, keepsAlive: false)
    send(.refusal(failure.status, failure.reason), to: none, at: time)
  }

  private mutating func send(_ response: EndpointResponse, to request: CurrentRequest, at time: EventTime) {
    let keepsAlive = request.keepsAlive && !isDraining
    output = UnsentBytes(
      response, isHead: request.isHead, minorVersion: request.minorVersion, keepsAlive: keepsAlive,
      date: time.date)
    progress = 0
    writeDeadline = time.instant + limits.writeTimeout
    phase = keepsAlive ? .receiving : .closing
    if !keepsAlive { input = [] }
  }

  // MARK: Actions

  /// The next action. Call it until it is ``Action/wait(input:output:until:)`` or ``Action/close(reset:)``.
  package mutating func nextAction(at time: EventTime) -> Action {
    // RFC 9112, section 9.3.2: pipelined requests are answered in their order. The next one is parsed when
    // the answer to the one before is sent, so that a connection owes no more than one answer.
    if case .receiving = phase, output.isEmpty, let request = nextRequest(at: time) {
      let current = CurrentRequest(
        id: requestCount, isHead: request.method == "HEAD", minorVersion: request.minorVersion,
        keepsAlive: request.keepsAlive)
      requestCount += 1
      phase = .answering(current)
      (wait, waitDeadline) = (.answer, time.instant + request.answerTime(within: limits.answerTimeout))
      return .handle(request, id: current.id)
    }
    if let failure {
      self.failure = nil
      return .refused(failure)
    }
    switch phase {
    case .closed(let reset): return .close(reset: reset)
    case _ where !output.isEmpty:
      if !isWriteBlocked { return .write }
    case .receiving where hasInputEnded, .closing where hasInputEnded:
      phase = .closed(reset: false)
      return .close(reset: false)
    case .closing:
      phase = .lingering
      setWait(.linger, Self.lingerTimeout, at: time)
      return .shutdownOutput
    case .receiving, .answering, .lingering: break
    }
    // A client that sends a byte now and then for the same request begins nothing new.
    if waiting.activity != activity || waiting.request != requestCount {
      waiting = (activity, requestCount, time.instant)
    }
    return .wait(input: wantsInput, output: wantsOutput, until: deadline)
  }

  /// Parses what has arrived. A failure is answered here.
  private mutating func nextRequest(at time: EventTime) -> EndpointRequest? {
    switch parser.next(from: &input) {
    case .success(let request):
      if input.isEmpty { input = [] }
      return request
    case .failure(let failure): fail(failure, at: time)
    // RFC 9112, section 8.
    case nil where hasInputEnded && !parser.isIdle: fail(.malformed("the request is incomplete"), at: time)
    case nil where parser.isIdle && isDraining: phase = .closed(reset: false)
    case nil where parser.isIdle: setWait(.idle, limits.idleTimeout, at: time)
    case nil: setWait(.head, limits.headTimeout, at: time)
    }
    return nil
  }

  /// More of the same wait, such as another byte of a head, does not move the deadline.
  private mutating func setWait(_ wait: Wait, _ limit: Duration, at time: EventTime) {
    guard wait != self.wait else { return }
    self.wait = wait
    waitDeadline = time.instant + limit
  }
}
