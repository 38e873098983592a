import Synchronization

/// A value that comes once. Any number of tasks may wait for it, and do so even when they are cancelled.
package final class Promise<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var waiters: [CheckedContinuation<Value, Never>] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// The first value counts.
  package func fulfill(_ value: Value) {
    let waiters = state.withLock { state in
      defer { state.waiters = [] }
      state.value = state.value ?? value
      return state.waiters
    }
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
}
