import Synchronization

/// Calls an app's own observers in order, on one thread. Calls that a slow observer has no time for are dropped; neither
/// requests nor scrapes wait for it.
package final class ObserverQueue: Sendable {
  private enum Call: Sendable {
    case started(RequestDescription)
    case ended(RequestObservation)
  }

  private struct State {
    var waiting: [Call] = []
    var hasThread = false
    /// Calls that were ever added, and made.
    var added: UInt64 = 0
    var made: UInt64 = 0
    var dropped: UInt64 = 0
  }

  /// The most calls that wait. Further ones are dropped.
  package static let limit = 4_096

  private let observers: [any RequestObserver]
  private let rest: Duration
  private let state = Mutex(State())
  /// Wakes the thread.
  private let work = EventCount()
  /// Wakes the callers of ``flush(until:)``.
  private let progress = EventCount()
  /// The thread, while it calls observers: an observer that asks for a flush must not wait for itself.
  private let callingThread = Atomic<UInt>(0)

  /// - Parameter rest: The thread ends after so long without work; the next call starts another.
  package init(_ observers: [any RequestObserver], rest: Duration = .seconds(1)) {
    self.observers = observers
    self.rest = rest
    ExitFlush.add(self)
  }

  private func add(_ call: Call) {
    let (isFirst, needsThread) = state.withLock { state in
      guard state.waiting.count < Self.limit else {
        state.dropped &+= 1
        return (false, false)
      }
      state.waiting.append(call)
      state.added &+= 1
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
      state.withLock { $0.hasThread = false }  // The next call tries again.
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
        make(batch)
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

  private func make(_ batch: [Call]) {
    callingThread.store(BackgroundThread.current, ordering: .relaxed)
    for call in batch {
      switch call {
      case .started(let request): for observer in observers { observer.requestStarted(request) }
      case .ended(let observation): for observer in observers { observer.requestEnded(observation) }
      }
    }
    callingThread.store(0, ordering: .relaxed)
    state.withLock { $0.made &+= UInt64(batch.count) }
    progress.signal()
  }

  /// Waits until all calls that were added before have been made. `false` if the deadline came first. Does not wait when
  /// an observer calls it.
  @discardableResult
  package func flush(until deadline: Instant) -> Bool {
    let target = state.withLock { $0.added }
    while true {
      let ticket = progress.ticket
      if state.withLock({ $0.made >= target }) { return true }
      guard callingThread.load(ordering: .relaxed) != BackgroundThread.current else { return false }
      if !progress.wait(past: ticket, until: deadline) { return state.withLock { $0.made >= target } }
    }
  }
}

extension ObserverQueue: RequestConsumer {
  package func requestStarted(_ request: RequestDescription) { add(.started(request)) }

  package func requestEnded(_ observation: RequestObservation) { add(.ended(observation)) }
}

extension ObserverQueue: FlushedAtExit {
  package func flushAtExit(within limit: Duration) {
    flush(until: .now.advanced(by: limit))
  }
}

extension ObserverQueue: Collector {
  /// The number of calls that were dropped.
  package func collect() -> [MetricFamily] {
    [
      MetricFamily(
        name: "session_tap_observer_dropped_total",
        help: "Calls of the app's own observers that were dropped, because too many waited.", kind: .counter,
        samples: [.init(value: Double(state.withLock { $0.dropped }))])
    ]
  }
}
