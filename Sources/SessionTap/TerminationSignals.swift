import Synchronization
import TapCore
import TapLibc

/// SIGTERM and SIGINT, from its making on, until one comes or it is released. Else they are what they were
/// before: so a second signal, during a shutdown, ends the process at once.
///
/// By a handler and a semaphore, which needs no descriptor (signal-safety(7)). Dispatch's own source wants
/// the signal to be ignored, and misses it where the kernel discards it first, since Dispatch lets the main
/// thread wait with no signal blocked (`_dispatch_sigsuspend`).
package final class TerminationSignals: Sendable {
  private struct State {
    var listeners: [ObjectIdentifier: AsyncStream<Void>.Continuation] = [:]
    var actionsBefore: [(number: Int32, action: sigaction)] = []
    /// The thread that waits for signals has been asked for, and has started.
    var isWaiting = false
    var hasThread = false

    /// Changes nothing until the system gives a thread: a signal ends the process until then, as without a
    /// listener.
    mutating func installHandler() {
      if !isWaiting {
        signalSemaphore = signalSemaphore ?? makeSemaphore()
        guard signalSemaphore != nil else { return }
        isWaiting = true
        hasThread = BackgroundThread.startNowOrLater {
          TerminationSignals.state.withLock { state in
            if !exchange(&state.hasThread, with: true), !state.listeners.isEmpty { state.installHandler() }
          }
          while true { TerminationSignals.waitForSignal() }
        }
      }
      guard hasThread else { return }
      actionsBefore = [SIGTERM, SIGINT].map { number in
        var before = sigaction()
        sigaction(number, nil, &before)
        signal(number, noteSignal)
        return (number, before)
      }
    }

    mutating func restoreActions() {
      for (number, var action) in actionsBefore { sigaction(number, &action, nil) }
      actionsBefore = []
    }
  }

  /// Of all that listen in this process.
  private static let state = Mutex(State())

  private let asked: AsyncStream<Void>

  package init() {
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    self.asked = asked
    Self.state.withLock { state in
      if state.listeners.isEmpty { state.installHandler() }
      state.listeners[ObjectIdentifier(self)] = ask
    }
  }

  deinit {
    Self.state.withLock { state in
      let last = state.listeners.removeValue(forKey: ObjectIdentifier(self))
      if last != nil, state.listeners.isEmpty { state.restoreActions() }
    }
  }

  /// Returns when a signal has come, or when the current task is cancelled. To be called once.
  package func wait() async {
    for await _ in asked {}
  }

  private static func waitForSignal() {
    guard let semaphore = signalSemaphore, sem_wait(semaphore) == 0 else { return }
    let listeners = state.withLock { state in
      state.restoreActions()
      // Signals that came together end one wait.
      while sem_trywait(semaphore) == 0 {}
      defer { state.listeners = [:] }
      return state.listeners.values
    }
    for listener in listeners { listener.finish() }
  }
}

/// What the handler of signals posts: a plain pointer, so that the handler makes nothing.
private nonisolated(unsafe) var signalSemaphore: UnsafeMutablePointer<sem_t>?

private func makeSemaphore() -> UnsafeMutablePointer<sem_t>? {
  #if canImport(Darwin)
    // There are only named ones.
    let name = "/session-tap.\(getpid())"
    defer { sem_unlink(name) }
    return sem_open(name, O_CREAT | O_EXCL, 0o600, 0)
  #else
    let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    sem_init(semaphore, 0, 0)
    return semaphore
  #endif
}

private func noteSignal(_ number: Int32) {
  let before = errno
  if let signalSemaphore { sem_post(signalSemaphore) }
  errno = before
}
