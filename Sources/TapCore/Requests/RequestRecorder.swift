import Synchronization

/// Records requests of both directions: in the metrics of a registry, in a log, and for an app's own observers.
///
/// The begin and the end of a request put it into one queue; ``drain()`` takes all that waits there and updates the metrics and
/// the log. That is work of the processor alone, away from the path of the requests: done for each request where it happens, it
/// costs ten times as much, since the processor has to fetch the code first. It is done every 100 ms, by a scrape before it reads,
/// at an exit, and by a request that finds the queue full. So nothing is lost, and memory is bounded.
public final class RequestRecorder: Sendable {
  private struct State {
    var waiting: [RequestRecord] = []
    /// The worker has found nothing to do, and waits to be asked.
    var isResting = true
    /// When the worker drains next.
    var due = Instant.never
  }

  /// The most requests that wait. One that finds so many drains the queue.
  static let limit = 2_048
  /// How long a request waits at most for the worker: as long as a reader of the log may wait. All recorders of a process drain
  /// at the same moments, since each wake-up of a thread delays the requests' own.
  private static let interval = Duration.milliseconds(100)

  private let outboundMetrics: RequestFamilies?
  private let inboundMetrics: RequestFamilies?
  let consumers: [any RequestConsumer]
  private let observers: ObserverQueue?
  private let worker: Worker
  private let state = Mutex(State())
  /// Held while requests are delivered, so that batches do not overtake each other.
  private let turn = Mutex(())
  private let drainingThread = Atomic<UInt>(0)
  private let living = Atomic<Int>(0)

  /// Makes a recorder and registers its metrics.
  ///
  /// - Parameters:
  ///   - registry: Where the metrics are registered. It holds the request metrics once.
  ///   - outbound: Buckets, methods and limit of series for the requests that the app makes.
  ///   - inbound: The same for those that it serves.
  ///   - observers: The app's own observers.
  /// - Throws: ``RegistryError`` if the buckets cannot be used, or the registry has these metrics already.
  public convenience init(
    registry: Registry, outbound: RequestMetrics = .init(),
    inbound: RequestMetrics = .init(), observers: [any RequestObserver] = []
  ) throws(RegistryError) {
    try self.init(
      registry: registry, outbound: outbound, inbound: inbound, consumers: [], observers: observers)
  }

  /// - Parameters:
  ///   - consumers: What is called within ``drain()``.
  ///   - worker: The thread that drains.
  package init(
    registry: Registry, outbound: RequestMetrics = .init(), inbound: RequestMetrics = .init(),
    consumers: [any RequestConsumer], observers: [any RequestObserver] = [], worker: Worker = Worker()
  ) throws(RegistryError) {
    outboundMetrics = try RequestFamilies(.outbound, outbound)
    inboundMetrics = try RequestFamilies(.inbound, inbound)
    let queue = observers.isEmpty ? nil : ObserverQueue(observers)
    self.observers = queue
    self.consumers = consumers + (queue.map { [$0] } ?? [])
    self.worker = worker
    ExitFlush.add(self)
    try registry.add(self)
    if let queue { try registry.register(queue) }
  }

  /// Makes a recorder without metrics.
  package init(consumers: [any RequestConsumer], worker: Worker = Worker()) {
    (outboundMetrics, inboundMetrics, observers) = (nil, nil, nil)
    self.consumers = consumers
    self.worker = worker
    ExitFlush.add(self)
  }

  /// Records requests that the app makes with something else than a URLSession.
  public var outbound: OutboundRequests { OutboundRequests(recorder: self) }

  /// Records requests that the app serves.
  public var inbound: InboundRequests { InboundRequests(recorder: self) }

  /// Puts a request into the queue.
  func add(_ request: RequestRecord) {
    let (isFull, wakesWorker) = state.withLock { state in
      state.waiting.append(request)
      defer { state.isResting = false }
      return (state.waiting.count >= Self.limit, state.isResting)
    }
    if wakesWorker {
      // Where the system gives no thread, the next request tries again.
      do { try worker.schedule(self) } catch { state.withLock { $0.isResting = true } }
    }
    if isFull { drain() }
  }

  /// Records all that happened before, and gives it to the log and to the queue of the observers. A scrape does so by itself; call
  /// this before you read what a log has. Waits for nothing but the same work on another thread.
  public func drain() {
    // A consumer of a test's may ask for a drain.
    let thread = BackgroundThread.current
    guard drainingThread.load(ordering: .relaxed) != thread else { return }
    turn.withLock { _ in
      let batch = state.withLock { state in
        var batch: [RequestRecord] = []
        batch.reserveCapacity(min(Self.limit, 2 * state.waiting.count))
        swap(&batch, &state.waiting)
        return batch
      }
      guard !batch.isEmpty else { return }
      drainingThread.store(thread, ordering: .relaxed)
      for request in batch { request.deliver() }
      for consumer in consumers { consumer.batchEnded() }
      drainingThread.store(0, ordering: .relaxed)
    }
  }

  func metrics(of direction: RequestDirection) -> RequestFamilies? {
    direction == .outbound ? outboundMetrics : inboundMetrics
  }

  /// The requests that live, begun or not: what a test checks for leaks.
  package var requestCount: Int { living.load(ordering: .relaxed) }

  /// A request was made, or released.
  func count(_ change: Int) { living.wrappingAdd(change, ordering: .relaxed) }

  /// Waits until the observers have been called for all that happened before. `false` if the deadline came first.
  @discardableResult
  package func flushObservers(until deadline: Instant) -> Bool {
    observers?.flush(until: deadline) ?? true
  }
}

extension RequestRecorder: BackgroundJob {
  /// Drains at intervals, until no request comes any more.
  package func run(at now: Instant) -> Instant? {
    let due = state.withLock { state in
      if state.due == .never { state.due = now.next(multipleOf: Self.interval) }
      return state.due
    }
    guard now >= due else { return due }
    drain()
    return state.withLock { state in
      state.isResting = state.waiting.isEmpty
      state.due = state.isResting ? .never : now.next(multipleOf: Self.interval)
      return state.isResting ? nil : state.due
    }
  }
}

extension RequestRecorder: FlushedAtExit {
  package func flushAtExit(within limit: Duration) { drain() }
}

extension RequestRecorder: MetricSource {
  private var metrics: [RequestFamilies] { [outboundMetrics, inboundMetrics].compactMap { $0 } }

  var descriptors: [FamilyDescriptor] { metrics.flatMap(\.descriptors) }

  /// What a scrape shows is what has happened by then.
  func gather(at now: Instant) -> [any GatheredFamily] {
    drain()
    return metrics.flatMap { $0.gather(at: now) }
  }

  var statistics: [FamilyStatistics] { metrics.flatMap(\.statistics) }
}

/// A consumer that is called within ``RequestRecorder/drain()``, on any thread: it returns within microseconds, waits for nothing
/// but a short lock, and calls no code of the app's.
package protocol RequestConsumer: RequestObserver {
  /// No further request follows for the moment.
  func batchEnded()
}

extension RequestConsumer {
  package func batchEnded() {}
}
