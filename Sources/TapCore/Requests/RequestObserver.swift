/// An app's own consumer of requests in both directions (``RequestDescription/direction``).
///
/// Each request calls ``requestStarted(_:)`` once and then ``requestEnded(_:)`` once, about a tenth of a
/// second late, one after another, on a thread of their own: a slow observer delays neither requests nor
/// scrapes. When 4,096 calls wait, further ones are dropped and counted in
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

/// A consumer that is called within ``RequestRecorder/drain()``, on any thread: it returns within
/// microseconds, waits only for a short lock, and calls no code of the app but a log's own rule of redaction.
package protocol RequestConsumer: RequestObserver, AnyObject {
  /// The request has been active for its limit, or for a doubling of it. Does nothing by default.
  func requestWaits(_ request: RequestSnapshot)
  /// The process ends before the request does. Does nothing by default.
  func requestIsUnfinished(_ request: RequestSnapshot)
  /// A request that was reported as unfinished has ended after all. By default the same as any end.
  func unfinishedRequestEnded(_ observation: RequestObservation)
  /// The number of further unfinished requests. Does nothing by default.
  func requestsAreUnfinished(_ count: Int)
  /// The queue of all URLSessions has not run, and so many requests are unstarted. Does nothing by default.
  func queueIsHeld(_ held: HeldQueue, unstarted: Int)
  /// All calls of a batch have been made. Does nothing by default.
  func batchEnded()
  /// Wakes a thread of its own that the system refused before. Does nothing by default.
  func wakeIfRefused()
}

extension RequestConsumer {
  package func requestWaits(_ request: RequestSnapshot) {}
  package func requestIsUnfinished(_ request: RequestSnapshot) {}
  package func unfinishedRequestEnded(_ observation: RequestObservation) { requestEnded(observation) }
  package func requestsAreUnfinished(_ count: Int) {}
  package func queueIsHeld(_ held: HeldQueue, unstarted: Int) {}
  package func batchEnded() {}
  package func wakeIfRefused() {}
}

/// Calls an app's own observers in order, on one thread. Neither requests nor scrapes wait for a slow
/// observer: calls beyond the limit are dropped.
final class ObserverQueue: RequestConsumer {
  private typealias Call = @Sendable (any RequestObserver) -> Void

  /// The most calls that wait. Further ones are dropped.
  static let limit = 4_096

  private let calls: BoundedQueue<[Call]>

  init(_ observers: [any RequestObserver]) {
    calls = BoundedQueue { calls, _ in
      for call in calls { observers.forEach(call) }
      calls.removeAll()
    }
    ExitFlush.add(calls)
  }

  private func add(_ call: @escaping Call) {
    calls.add { $0.append(call, limit: Self.limit, many: Self.limit / 2) }
  }

  func requestStarted(_ request: RequestDescription) { add { $0.requestStarted(request) } }

  func requestEnded(_ observation: RequestObservation) { add { $0.requestEnded(observation) } }

  func batchEnded() { calls.wake() }

  func wakeIfRefused() { calls.wakeIfRefused() }

  var droppedCount: UInt64 { calls.droppedCount }

  func flush(until deadline: Instant) -> Bool { calls.flush(until: deadline) }
}
