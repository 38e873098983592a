/// Lets a number of tasks pass at a time. A task that waits blocks no thread.
package final class AsyncSemaphore: Sendable {
  private struct State {
    var free: Int
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  package init(count: Int) { state = Mutex(State(free: count)) }

  /// Runs the body when it is its turn.
  package func run<T>(_ body: () async throws -> T) async rethrows -> T {
    await wait()
    defer { signal() }
    return try await body()
  }

  private func wait() async {
    await withCheckedContinuation { continuation in
      let passes = state.withLock { state in
        guard state.free == 0 else {
          state.free -= 1
          return true
        }
        state.waiters.append(continuation)
        return false
      }
      if passes { continuation.resume() }
    }
  }

  private func signal() {
    let next: CheckedContinuation<Void, Never>? = state.withLock { state in
      guard state.waiters.isEmpty else { return state.waiters.removeFirst() }
      state.free += 1
      return nil
    }
    next?.resume()
  }
}
