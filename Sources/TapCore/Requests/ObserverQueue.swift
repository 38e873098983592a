import Synchronization

/// An app's own consumer of requests in both directions (``RequestDescription/direction``).
///
/// Each request calls ``requestStarted(_:)`` once and then ``requestEnded(_:)`` once. The calls come about a
/// tenth of a second late, one after another, on a thread of their own: a slow observer delays neither
/// requests nor scrapes. When 4,096 calls wait, further ones are dropped and counted in
/// `session_tap_observer_dropped_total`.
public protocol RequestObserver: Sendable {
  /// A request began. Does nothing by default.
  func requestStarted(_ request: RequestDescription)
  /// A request ended.
  func requestEnded(_ observation: RequestObservation)
}

extension RequestObserver {
  /// Does nothing.
  public func requestStarted(_ request: RequestDescription) {}
}

/// Calls an app's own observers in order, on one thread. Calls that a slow observer has no time for are dropped; neither
/// requests nor scrapes wait for it.
package final class ObserverQueue: Sendable {
  private typealias Call = @Sendable (any RequestObserver) -> Void

  private struct State {
    var waiting: [Call] = []
    /// The worker has been asked to make the calls.
    var isWorkerAsked = false
    /// Calls that were ever added, and made.
    var added: UInt64 = 0
    var made: UInt64 = 0
    var dropped: UInt64 = 0
  }

  /// The most calls that wait. Further ones are dropped.
  package static let limit = 4_096

  private let observers: [any RequestObserver]
  /// A thread of their own, since observers may block it.
  private let worker = Worker()
  private let state = Mutex(State())
  /// Wakes the callers of ``flush(until:)``.
  private let progress = EventCount()
  /// The thread, while it calls observers: an observer that asks for a flush must not wait for itself.
  private let callingThread = Atomic<UInt>(0)

  package init(_ observers: [any RequestObserver]) {
    self.observers = observers
    ExitFlush.add(self)
  }

  private func add(_ call: @escaping Call) {
    let asksWorker = state.withLock { state in
      guard state.waiting.count < Self.limit else {
        state.dropped &+= 1
        return false
      }
      state.waiting.append(call)
      state.added &+= 1
      return !exchange(&state.isWorkerAsked, with: true)
    }
    guard asksWorker else { return }
    // Where the system gives no thread, the next call tries again.
    do { try worker.run(self) } catch { state.withLock { $0.isWorkerAsked = false } }
  }

  /// The number of calls that were dropped.
  var droppedCount: UInt64 { state.withLock { $0.dropped } }

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

extension ObserverQueue: BackgroundJob {
  package func run(at now: Instant) -> Instant? {
    let batch = state.withLock { state in
      state.isWorkerAsked = false
      return exchange(&state.waiting, with: [])
    }
    callingThread.store(BackgroundThread.current, ordering: .relaxed)
    for call in batch { observers.forEach(call) }
    callingThread.store(0, ordering: .relaxed)
    state.withLock { $0.made &+= UInt64(batch.count) }
    progress.signal()
    return nil
  }
}

extension ObserverQueue: RequestConsumer, FlushedAtExit {
  package func requestStarted(_ request: RequestDescription) { add { $0.requestStarted(request) } }

  package func requestEnded(_ observation: RequestObservation) { add { $0.requestEnded(observation) } }

  package func flushAtExit(within limit: Duration) { flush(until: .now.advanced(by: limit)) }
}
