/// Something that a test waits for: closed at first, opened once, never closed again.
package final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiters: [@Sendable (_ isOpen: Bool) -> Void] = []
  }

  private let state = Mutex(State())

  package init() {}

  package var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Opens the gate. Opening it again does nothing.
  package func open() {
    let waiters = state.withLock { state in
      state.isOpen = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter(true) }
  }

  /// Calls back once: when the gate is open, or when the deadline has passed.
  private func whenOpen(within seconds: Double, _ callback: @escaping @Sendable (Bool) -> Void) {
    let isCalled = Atomic(false)
    let waiter: @Sendable (Bool) -> Void = { isOpen in
      if !isCalled.exchange(true, ordering: .relaxed) { callback(isOpen) }
    }
    let isOpen = state.withLock { state in
      if !state.isOpen { state.waiters.append(waiter) }
      return state.isOpen
    }
    if isOpen {
      waiter(true)
    } else {
      DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { waiter(false) }
    }
  }

  /// Waits on this thread. `false` if the deadline passed.
  @discardableResult
  package func waitBlocking(seconds: Double = 120) -> Bool {
    let semaphore = DispatchSemaphore(value: 0)
    whenOpen(within: seconds) { _ in semaphore.signal() }
    semaphore.wait()
    return isOpen
  }

  /// Waits until the gate opens. Throws if the deadline passes.
  package func wait(seconds: Double = 120, _ what: String = "an event") async throws {
    let isOpen = await withCheckedContinuation { continuation in
      whenOpen(within: seconds) { continuation.resume(returning: $0) }
    }
    guard isOpen else { throw TestFailure.deadlinePassed(what, seconds) }
  }

  /// Waits until the task is cancelled. Throws if the deadline passes.
  package static func waitForCancel() async throws {
    let isCancelled = Gate()
    try await withTaskCancellationHandler {
      try await isCancelled.wait("the cancel")
    } onCancel: {
      isCancelled.open()
    }
  }
}
