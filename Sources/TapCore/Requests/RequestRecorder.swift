import Synchronization

/// Records requests in both directions: in the metrics of a registry, in a log, and for an app's own
/// observers.
///
/// The begin and the end of a request put it into one queue. ``drain()`` empties the queue and updates the
/// metrics and the log. This is CPU-only and off the request path: inline it costs ten times as much, because
/// the code is cold. A thread drains every 100 ms and when the queue is half full. A scrape drains before it
/// reads, and so do an exit and a request that finds the queue full. So nothing is lost, and memory is
/// bounded.
public final class RequestRecorder: Sendable {
  /// A request that finds so many waiting drains the queue, unless another thread is doing so: then it waits for that one only if
  /// twice as many wait.
  static let limit = 2_048

  package let outboundFilter: RequestFilter
  let inboundFilter: RequestFilter
  /// `nil` where there are none: then no URL is read.
  package let outboundTemplates: PathTemplates?
  let inboundTemplates: PathTemplates?
  let headers: HeaderNames
  private let outboundMetrics: RequestMetrics
  private let inboundMetrics: RequestMetrics
  let consumers: [any RequestConsumer]
  private let observers: ObserverQueue?
  private let worker: Worker
  private let waiting = Mutex<[RequestRecord]>([])
  /// Held while requests are delivered, so that batches do not overtake each other.
  private let turn = Mutex(())
  private let drainingThread = Atomic<UInt>(0)
  private let living = Atomic<Int>(0)

  /// Makes a recorder and registers its metrics.
  ///
  /// - Parameters:
  ///   - registry: Where the metrics are registered. It holds the request metrics once.
  ///   - outbound: The options for the requests that the app makes.
  ///   - inbound: The options for the requests that it serves.
  ///   - exemplars: Which requests leave exemplars.
  ///   - observers: The app's own observers.
  /// - Throws: ``RegistryError`` if the buckets are invalid, or the registry has these metrics already.
  public convenience init(
    registry: Registry, outbound: RequestOptions = .init(), inbound: RequestOptions = .init(),
    exemplars: ExemplarPolicy = .sampled, observers: [any RequestObserver] = []
  ) throws(RegistryError) {
    try self.init(
      registry: registry, outbound: outbound, inbound: inbound, exemplars: exemplars, consumers: [],
      observers: observers)
  }

  package init(
    registry: Registry, outbound: RequestOptions = .init(), inbound: RequestOptions = .init(),
    exemplars: ExemplarPolicy = .sampled, headers: HeaderNames = HeaderNames(),
    consumers: [any RequestConsumer], observers: [any RequestObserver] = [], worker: Worker = Worker()
  ) throws(RegistryError) {
    (outboundFilter, inboundFilter, self.headers) = (outbound.filter, inbound.filter, headers)
    outboundTemplates = outbound.pathTemplates.isEmpty ? nil : outbound.pathTemplates
    inboundTemplates = inbound.pathTemplates.isEmpty ? nil : inbound.pathTemplates
    outboundMetrics = try RequestMetrics(.outbound, outbound, exemplars: exemplars)
    inboundMetrics = try RequestMetrics(.inbound, inbound, exemplars: exemplars)
    let queue = observers.isEmpty ? nil : ObserverQueue(observers)
    self.observers = queue
    self.consumers = consumers + (queue.map { [$0] } ?? [])
    self.worker = worker
    ExitFlush.add(self)
    try registry.add(self)
    guard let queue else { return }
    try registry.counter(
      "session_tap_observer_dropped_total",
      help: "Calls of the app's own observers that were dropped, because too many waited."
    ) { Double(queue.droppedCount) }
  }

  /// Records requests that the app makes without a URLSession.
  public var outbound: OutboundRequests { OutboundRequests(recorder: self) }

  /// Records requests that the app serves.
  public var inbound: InboundRequests { InboundRequests(recorder: self) }

  func add(_ request: RequestRecord) {
    let count = waiting.withLock { waiting in
      waiting.append(request)
      return waiting.count
    }
    // Where the system gives no thread, a full queue is drained all the same.
    if count == 1 { try? worker.run(self, by: .nextTick) }
    if count == Self.limit / 2 { try? worker.run(self) }
    if count >= 2 * Self.limit {
      drain()
    } else if count >= Self.limit {
      _ = turn.withLockIfAvailable { _ in deliver() }
    }
  }

  /// Records everything that happened before, and passes it to the log and the observers' queue. A scrape
  /// does so by itself; call this before you read a log. Waits only for the same work on another thread.
  public func drain() {
    // The redaction's function is the app's, and may ask for a scrape.
    guard drainingThread.load(ordering: .relaxed) != BackgroundThread.current else { return }
    turn.withLock { _ in deliver() }
  }

  private func deliver() {
    drainingThread.store(BackgroundThread.current, ordering: .relaxed)
    defer { drainingThread.store(0, ordering: .relaxed) }
    let batch = waiting.withLock { waiting in
      var batch: [RequestRecord] = []
      batch.reserveCapacity(min(Self.limit, 2 * waiting.count))
      swap(&batch, &waiting)
      return batch
    }
    for request in batch { request.deliver() }
  }

  func metrics(of direction: RequestDirection) -> RequestMetrics {
    direction == .outbound ? outboundMetrics : inboundMetrics
  }

  /// The requests that live, begun or not: what a test checks for leaks.
  package var requestCount: Int { living.load(ordering: .relaxed) }

  func count(_ change: Int) { living.wrappingAdd(change, ordering: .relaxed) }

  /// Waits until the observers have been called for all that happened before. `false` if the deadline came first.
  @discardableResult
  package func flushObservers(until deadline: Instant) -> Bool {
    observers?.flush(until: deadline) ?? true
  }
}

extension RequestRecorder: BackgroundJob, FlushedAtExit {
  /// Drains at each tick, until no request comes any more.
  package func run(at now: Instant) -> Instant? {
    let isIdle = waiting.withLock { $0.isEmpty }
    drain()
    return isIdle ? nil : .nextTick
  }

  package func flushAtExit(within limit: Duration) { drain() }
}

extension RequestRecorder: MetricSource {
  var descriptors: [FamilyDescriptor] { outboundMetrics.descriptors + inboundMetrics.descriptors }

  /// What a scrape shows is what has happened by then.
  func gather(at now: Instant) -> [GatheredFamily] {
    drain()
    return outboundMetrics.gather(at: now) + inboundMetrics.gather(at: now)
  }
}

/// The names of the headers that a log shows, sorted and in lowercase (OpenTelemetry, `http.request.header.<key>`): one order,
/// and no key twice. No others are read of a request that no URLSession makes.
package struct HeaderNames: Sendable {
  package let request: [String]
  package let response: [String]

  package init(request: Set<String> = [], response: Set<String> = []) {
    self.request = Set(request.map { $0.lowercased() }).sorted()
    self.response = Set(response.map { $0.lowercased() }).sorted()
  }
}

extension [String] {
  /// The headers of these names that a message has.
  func values(_ header: (String) -> String?) -> [String: String] {
    var values: [String: String] = [:]
    for name in self { values[name] = header(name) }
    return values
  }
}

/// A consumer that is called within ``RequestRecorder/drain()``, on any thread: it returns within microseconds, waits for nothing
/// but a short lock, and calls no code of the app's.
package protocol RequestConsumer: RequestObserver, AnyObject {}
