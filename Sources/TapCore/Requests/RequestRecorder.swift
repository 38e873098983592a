/// Records requests in both directions: in the metrics of a registry, in a log, and for an app's own
/// observers.
///
/// A request is put into one queue when it is made, and again at its begin or end if it has been delivered
/// since. ``drain()`` empties the queue and updates the metrics and the log. On the thread of the request
/// this work made a small GET 7% to 9% slower than without a tap, through the queue 3% to 4%: in batches the
/// code and the metrics stay in the processor's caches. A thread drains every 100 ms, and at once when 1,024
/// requests wait. Whatever reads drains first: a scrape, a list of active requests, an exit. A request that
/// finds 16,384 waiting, because that thread is far behind or the system gives none, drains the queue itself.
/// So nothing is lost, and memory is bounded.
public final class RequestRecorder: Sendable {
  /// The most requests that wait: some 16 MB. A request beyond them drains the queue.
  static let limit = 16_384
  /// When so many wait, the thread drains at once.
  static let many = 1_024

  package let outboundFilter: (@Sendable (RequestDescription) -> Bool)?
  let inboundFilter: (@Sendable (RequestDescription) -> Bool)?
  /// `nil` where there are none: then no URL is read.
  private let outboundTemplates: PathTemplates?
  private let learnedPaths: LearnedPaths?
  let inboundTemplates: PathTemplates?
  let headers: HeaderNames
  let knownMethods: KnownMethods
  let tracer: (any RequestTracer)?
  /// The share of the traces which begin here that is sampled.
  let traceSamplingRate: Double
  private let outboundMetrics: RequestMetrics
  private let inboundMetrics: RequestMetrics
  let consumers: [any RequestConsumer]
  /// Keeps the active requests where they can be read after a crash, if it is asked for.
  package let blackBox: BlackBox?
  private let observerQueues: [ObserverQueue]
  private let queue: BoundedQueue<[RequestRecord]>
  private let reporter: WaitReporter

  /// Makes a recorder and registers its metrics.
  ///
  /// - Parameters:
  ///   - registry: Where the metrics are registered. It holds the request metrics once.
  ///   - outbound: The configuration for the requests that the app makes.
  ///   - inbound: The configuration for the requests that it serves.
  ///   - exemplars: Which requests leave exemplars.
  ///   - observers: The app's own observers.
  /// - Throws: ``RegistryError`` if the buckets are invalid, or the registry has these metrics already.
  public convenience init(
    registry: Registry, outbound: RequestConfiguration = .init(), inbound: RequestConfiguration = .init(),
    exemplars: ExemplarPolicy = .sampled, observers: [any RequestObserver] = []
  ) throws(RegistryError) {
    try self.init(
      registry: registry, outbound: outbound, inbound: inbound, exemplars: exemplars, consumers: [],
      observers: observers)
  }

  package init(
    registry: Registry, outbound: RequestConfiguration = .init(), inbound: RequestConfiguration = .init(),
    exemplars: ExemplarPolicy = .sampled, headers: HeaderNames = HeaderNames(),
    knownMethods: KnownMethods = .standard, consumers: [any RequestConsumer],
    observers: [any RequestObserver] = [], tracer: (any RequestTracer)? = nil, traceSamplingRate: Double = 0,
    learnsPaths: Bool = false, keepsHistory: Bool = false, blackBox: BlackBox? = nil
  ) throws(RegistryError) {
    self.blackBox = blackBox
    (outboundFilter, inboundFilter) = (outbound.filter, inbound.filter)
    (self.headers, self.knownMethods) = (headers, knownMethods)
    (self.tracer, self.traceSamplingRate) = (tracer, traceSamplingRate)
    outboundTemplates = outbound.pathTemplates.isEmpty ? nil : outbound.pathTemplates
    inboundTemplates = inbound.pathTemplates.isEmpty ? nil : inbound.pathTemplates
    learnedPaths = learnsPaths ? LearnedPaths() : nil
    let start = keepsHistory ? Instant.now : nil
    outboundMetrics = try RequestMetrics(.outbound, outbound, exemplars: exemplars, historyStart: start)
    inboundMetrics = try RequestMetrics(.inbound, inbound, exemplars: exemplars, historyStart: start)
    // The tracer has a queue of its own, so that a slow observer costs no spans.
    observerQueues = [observers, tracer.map { [$0] } ?? []].filter { !$0.isEmpty }.map(ObserverQueue.init)
    let consumers: [any RequestConsumer] = consumers + observerQueues
    let reporter = WaitReporter([outboundMetrics, inboundMetrics], consumers)
    (self.consumers, self.reporter) = (consumers, reporter)
    queue = BoundedQueue { batch, turn in
      // Before the deliveries: a request that begins meanwhile could miss its report.
      let now = Instant.now
      // At each tick, while requests come.
      let isEmpty = batch.isEmpty
      turn.next = isEmpty ? .never : .nextTick
      // In order, and each is released while it is in the processor's cache.
      batch.reverse()
      while let request = batch.popLast() { request.deliver() }
      // Those that come to their limit within a tick are reported together.
      turn.next = min(turn.next, reporter.reportWaits(isUsed: !isEmpty, at: now).nextTick)
      // An empty batch wakes no thread of a consumer.
      if !isEmpty { for consumer in consumers { consumer.batchEnded() } }
    }
    ExitFlush.add(self)
    try registry.add(self)
    try addMetrics(to: registry)
    NewestTracing.note(self)
  }

  private func addMetrics(to registry: Registry) throws(RegistryError) {
    let (reporter, queues) = (reporter, observerQueues)
    var metrics: [(name: String, help: String, value: @Sendable () -> Double)] = [
      (
        "session_tap_refused_threads_total",
        "Starts of a thread that the system refused, as at a limit of tasks. Each is tried again.",
        { Double(BackgroundThread.refusedCount) }
      ),
      (
        "session_tap_queue_held_seconds",
        "For how long the queue of all URLSessions has not run what was put on it, 0 while it does.",
        { reporter.held()?.duration.seconds ?? 0 }
      ),
      (
        "session_tap_unstarted_requests",
        "Requests that URLSession has taken and not started: something holds the queue of all sessions.",
        { Double(reporter.unstarted().count) }
      ),
      (
        "session_tap_oldest_unstarted_request_seconds",
        "For how long the oldest of them has waited, 0 without any.", { reporter.unstarted().age.seconds }
      ),
      (
        "session_tap_unfinished_requests",
        "Requests that were active when the tap was shut down, 0 before.",
        { Double(reporter.unfinishedCount) }
      ),
    ]
    if let blackBox {
      metrics.append(
        (
          "session_tap_black_box_unfinished_requests_total",
          "Requests that were active when the process before ended without a shutdown.",
          { Double(blackBox.previous?.requestCount ?? 0) }
        ))
      metrics.append(
        (
          "session_tap_black_box_missed_requests_total",
          "Requests that found no place in the black box, because too many were active.",
          { Double(blackBox.missedCount) }
        ))
    }
    if !queues.isEmpty {
      metrics.append(
        (
          "session_tap_observer_dropped_total",
          "Calls of the app's own observers and tracer that were dropped, because too many waited.",
          { Double(queues.reduce(0) { $0 + $1.droppedCount }) }
        ))
    }
    for (name, help, value) in metrics {
      if name.hasSuffix("_total") {
        try registry.counter(name, help: help, value: value)
      } else {
        try registry.gauge(
          name, help: help, unit: name.hasSuffix("_seconds") ? "seconds" : nil, value: value)
      }
    }
  }

  /// Records requests that the app makes without a URLSession.
  public var outbound: OutboundRequests { OutboundRequests(recorder: self) }

  /// Records requests that the app serves.
  public var inbound: InboundRequests { InboundRequests(recorder: self) }

  /// The template of a request that the app makes without one of its own: of the app's, else a learned one.
  func outboundTemplate(of url: String, to server: URLAuthority?) -> String? {
    if let template = outboundTemplates?.template(forURL: url) { return template }
    guard let learnedPaths, let server else { return nil }
    return learnedPaths.template(forURL: url, of: server)
  }

  func add(_ request: RequestRecord) {
    guard queue.add({ $0.append(request, limit: Self.limit, many: Self.many) }) == .full else { return }
    drain()
    // Not in a loop: a drain within a drain does nothing.
    queue.add { $0.append(request, limit: .max, many: Self.many) }
  }

  /// Records everything that happened before, and passes it to the log and the observers' queue. A scrape
  /// does so by itself; call this before you read a log. Waits only for the same work on another thread.
  public func drain() {
    queue.drain()
    for consumer in consumers { consumer.wakeIfRefused() }
    blackBox?.wakeIfRefused()
  }

  /// The history of a direction's requests in the last ten minutes; `nil` if it is not kept.
  package func history(of direction: RequestDirection, at now: Instant = .now) -> RequestHistory.Window? {
    metrics(of: direction).withLock { $0.history(at: now) }
  }

  /// The requests that have been active or unstarted for at least so long, oldest first. Waits 0.1 s at most
  /// for Foundation's queue, on which the oldest 1,000 are inspected.
  package func activeRequests(olderThan age: Duration = .zero) -> [RequestSnapshot] {
    drain()
    return reporter.requests(olderThan: age).oldest
  }

  /// The oldest active and unstarted requests, oldest first, and how many more there are.
  package func oldestActiveRequests(limit: Int) -> (oldest: [RequestSnapshot], more: Int) {
    drain()
    return reporter.requests(limit: limit)
  }

  /// The waiting requests of both directions, whether reported yet or not.
  ///
  /// - Parameters:
  ///   - count: The most requests of which there are snapshots.
  ///   - shorter: A shorter limit than those of the directions.
  package func waitingRequests(
    atMost count: Int, at now: Instant, orFor shorter: Duration? = nil
  ) -> WaitingRequests {
    drain()
    return reporter.waiting(atMost: count, at: now, orFor: shorter)
  }

  /// Watches the queue of all URLSessions: a metric and a line report if it is blocked.
  package func watch(_ probe: QueueProbe) { reporter.watch(probe) }

  /// Reports each active request as unfinished, because the process ends. Of each request that began before,
  /// the consumers get either this report or, within this call, its end.
  package func reportUnfinished() {
    drain()
    reporter.lookAtOldest()
    // With those that have begun meanwhile.
    drain()
    reporter.reportUnfinished()
    // What ended before its report.
    drain()
    queue.endThread()
  }

  /// Gives no trace to what the app sends from now on: its tracer makes no spans, and its rate samples none.
  package func stopTracing() { NewestTracing.forget(self) }

  func metrics(of direction: RequestDirection) -> RequestMetrics {
    direction == .outbound ? outboundMetrics : inboundMetrics
  }

  /// Waits until the observers have been called for all that happened before. `false` if the deadline came
  /// first.
  @discardableResult
  package func flushObservers(until deadline: Instant) -> Bool {
    observerQueues.allSatisfy { $0.flush(until: deadline) }
  }
}

extension RequestRecorder: FlushedAtExit {
  package func flushAtExit(within limit: Duration) { reportUnfinished() }
}

extension RequestRecorder: MetricSource {
  var descriptors: [FamilyDescriptor] { outboundMetrics.descriptors + inboundMetrics.descriptors }

  /// A scrape shows what has happened by then.
  func gather(at now: Instant) -> [GatheredFamily] {
    drain()
    return outboundMetrics.gather(at: now) + inboundMetrics.gather(at: now)
  }
}
