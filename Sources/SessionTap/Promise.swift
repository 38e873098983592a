import Synchronization
import TapCore

/// A value that comes once. Any number of tasks and threads may wait for it, tasks also when they are
/// cancelled.
package final class Promise<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var waiters: [CheckedContinuation<Value, Never>] = []
  }

  private let state = Mutex(State())
  private let arrival = EventCount()

  package init() {}

  /// The first value counts.
  package func fulfill(_ value: Value) {
    let waiters = state.withLock { state in
      defer { state.waiters = [] }
      state.value = state.value ?? value
      return state.waiters
    }
    arrival.signal()
    for waiter in waiters { waiter.resume(returning: value) }
  }

  package var value: Value {
    get async {
      await withCheckedContinuation { continuation in
        let value = state.withLock { state in
          if state.value == nil { state.waiters.append(continuation) }
          return state.value
        }
        if let value { continuation.resume(returning: value) }
      }
    }
  }

  /// Waits on this thread. `nil` if the deadline came first.
  func wait(until deadline: Instant) -> Value? {
    arrival.wait(until: deadline) { state.withLock { $0.value } }
  }
}
