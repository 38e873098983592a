import Synchronization

/// Opens once, and lets everything that waits for it go on.
final class Latch: Sendable {
  private struct State {
    var isOpen = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  func open() {
    let waiters = state.withLock { state in
      defer { state = State(isOpen: true) }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns when the latch is open, also in a task that is cancelled.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiters.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }
}
