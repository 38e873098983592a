import Synchronization

/// Tells an app's own observers, on a thread of its own and in order. A slow one loses news, and neither a request nor a
/// scrape waits for it.
package final class ObserverQueue: Sendable {
  private enum News: Sendable {
    case started(RequestDescription)
    case waits(RequestDescription, Duration)
    case ended(RequestObservation)
    case inboundEnded(InboundObservation)
  }

  private struct State {
    var waiting: [News] = []
    var hasThread = false
    /// News ever taken in, and told.
    var taken: UInt64 = 0
    var told: UInt64 = 0
    var dropped: UInt64 = 0
  }

  /// How much news waits at most: what comes when so much does is dropped.
  package static let limit = 4_096

  private let observers: [any RequestObserver]
  private let inboundObservers: [any InboundRequestObserver]
  private let rest: Duration
  private let state = Mutex(State())
  /// Wakes the thread.
  private let work = EventCount()
  /// Wakes who waits for the thread.
  private let progress = EventCount()
  /// The thread, while it tells: an observer that asks for a flush must not wait for itself.
  private let tellingThread = Atomic<UInt>(0)

  /// - Parameters:
  ///   - observers: Who hears of the requests that the app makes.
  ///   - inboundObservers: Who hears of those that it serves.
  ///   - rest: A thread that has nothing to do for so long ends, and the next news starts another.
  package init(
    _ observers: [any RequestObserver], inbound inboundObservers: [any InboundRequestObserver],
    rest: Duration = .seconds(1)
  ) {
    self.observers = observers
    self.inboundObservers = inboundObservers
    self.rest = rest
    ExitFlush.add(self)
  }

  private func add(_ news: News) {
    let (isFirst, needsThread) = state.withLock { state in
      guard state.waiting.count < Self.limit else {
        state.dropped &+= 1
        return (false, false)
      }
      state.waiting.append(news)
      state.taken &+= 1
      defer { state.hasThread = true }
      return (state.waiting.count == 1, !state.hasThread)
    }
    if needsThread {
      startThread()
    } else if isFirst {
      work.signal()
    }
  }

  private func startThread() {
    do {
      try BackgroundThread.start { self.run() }
    } catch {
      state.withLock { $0.hasThread = false }  // The next news tries again.
    }
  }

  private func run() {
    while true {
      let ticket = work.ticket
      let batch = state.withLock { state in
        defer { state.waiting = [] }
        return state.waiting
      }
      guard batch.isEmpty else {
        tell(batch)
        continue
      }
      if work.wait(past: ticket, until: .now.advanced(by: rest)) { continue }
      let isIdle = state.withLock { state in
        if state.waiting.isEmpty { state.hasThread = false }
        return !state.hasThread
      }
      if isIdle { return }
    }
  }

  private func tell(_ batch: [News]) {
    tellingThread.store(BackgroundThread.current, ordering: .relaxed)
    for news in batch {
      switch news {
      case .started(let request): for observer in observers { observer.requestStarted(request) }
      case .waits(let request, let time):
        for observer in observers { observer.requestWaits(request, for: time) }
      case .ended(let observation): for observer in observers { observer.requestEnded(observation) }
      case .inboundEnded(let observation):
        for observer in inboundObservers { observer.inboundRequestEnded(observation) }
      }
    }
    tellingThread.store(0, ordering: .relaxed)
    state.withLock { $0.told &+= UInt64(batch.count) }
    progress.signal()
  }

  /// Waits until all news that came before is told. `false` if the deadline came first. Does not wait when called by an
  /// observer.
  @discardableResult
  package func flush(until deadline: Instant) -> Bool {
    let target = state.withLock { $0.taken }
    while true {
      let ticket = progress.ticket
      if state.withLock({ $0.told >= target }) { return true }
      guard tellingThread.load(ordering: .relaxed) != BackgroundThread.current else { return false }
      if !progress.wait(past: ticket, until: deadline) { return state.withLock { $0.told >= target } }
    }
  }
}

extension ObserverQueue: RequestObserver, InboundRequestObserver {
  package func requestStarted(_ request: RequestDescription) {
    if !observers.isEmpty { add(.started(request)) }
  }

  package func requestWaits(_ request: RequestDescription, for duration: Duration) {
    if !observers.isEmpty { add(.waits(request, duration)) }
  }

  package func requestEnded(_ observation: RequestObservation) {
    if !observers.isEmpty { add(.ended(observation)) }
  }

  package func inboundRequestEnded(_ observation: InboundObservation) {
    if !inboundObservers.isEmpty { add(.inboundEnded(observation)) }
  }
}

extension ObserverQueue: FlushedAtExit {
  package func flushAtExit(within limit: Duration) {
    flush(until: .now.advanced(by: limit))
  }
}

extension ObserverQueue: Collector {
  /// How much news was dropped.
  package func collect() -> [MetricFamily] {
    [
      MetricFamily(
        name: "session_tap_observer_dropped_total",
        help: "Calls of the app's own observers that were left out, since too many waited.", kind: .counter,
        samples: [.init(value: Double(state.withLock { $0.dropped }))])
    ]
  }
}
