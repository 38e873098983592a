import Dispatch
import Synchronization

/// Something that a test waits for: closed at first, opened once, never closed again.
package final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  private let group = DispatchGroup()

  /// Makes a closed gate.
  package init() { group.enter() }

  /// Whether the gate is open.
  package var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Opens the gate. Opening it again does nothing.
  package func open() {
    let waiters: [CheckedContinuation<Void, Never>]? = state.withLock { state in
      if state.isOpen { return nil }
      state.isOpen = true
      defer { state.waiters = [] }
      return state.waiters
    }
    guard let waiters else { return }
    group.leave()
    for waiter in waiters { waiter.resume() }
  }

  /// Waits on this thread. `false` if the deadline passed.
  @discardableResult
  package func waitBlocking(seconds: Double = 30) -> Bool {
    group.wait(timeout: .now() + seconds) == .success
  }

  /// Waits until the gate opens. Throws if the deadline passes.
  package func wait(seconds: Double = 30, _ what: String = "an event") async throws {
    let timer = DispatchSource.makeTimerSource()
    let isLate = Atomic<Bool>(false)
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiters.append(continuation) }
        return state.isOpen
      }
      if isOpen {
        continuation.resume()
        return
      }
      timer.schedule(deadline: .now() + seconds)
      timer.setEventHandler {
        isLate.store(true, ordering: .relaxed)
        self.open()  // resumes the waiter, which then throws
      }
      timer.resume()
    }
    timer.cancel()
    if isLate.load(ordering: .relaxed) { throw DeadlinePassed(what: what, seconds: seconds) }
  }
}

/// What a test waited for did not happen in time.
package struct DeadlinePassed: Error, CustomStringConvertible {
  package var what: String
  package var seconds: Double
  package var description: String { "no \(what) within \(seconds) s" }
}
