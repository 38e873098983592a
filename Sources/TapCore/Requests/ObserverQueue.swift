/// Calls an app's own observers in order, on one thread. Calls that a slow observer has no time for are
/// dropped; neither requests nor scrapes wait for it.
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
