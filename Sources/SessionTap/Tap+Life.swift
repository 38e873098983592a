import Synchronization
import TapCore
import TapLibc

extension Tap {
  /// Waits until the process gets SIGTERM or SIGINT, or the current task is cancelled, and shuts the tap
  /// down: the last line of an app. A second signal ends the process at once.
  public func runUntilTerminated() async {
    await TerminationSignals().wait()
    await shutdown()
  }

  /// Runs the app until it ends, or the process gets SIGTERM or SIGINT: then cancels the app's task and waits
  /// for it. Shuts the tap down afterwards, so that the app's last requests are recorded.
  ///
  ///     try await tap.runUntilTerminated { try await app.run() }
  ///
  /// If the app has not ended a second after the signal, a warning in the log and on standard error says
  /// which requests are active. Throws the app's errors, except for a `CancellationError` after a signal.
  public func runUntilTerminated(_ app: @escaping @Sendable () async throws -> Void) async throws {
    let signals = TerminationSignals()
    let result = await withTaskGroup { group in
      group.addTask { () async -> Result<Void, any Error>? in
        do { return .success(try await app()) } catch { return .failure(error) }
      }
      group.addTask {
        await signals.wait()
        return nil
      }
      var result = await group.next() ?? nil
      let isAsked = result == nil
      let end = Promise<Void>()
      if isAsked { warnOfWait(until: end) }
      // Foundation may deadlock in a cancel (corelibs 5412): the warning tells.
      group.cancelAll()
      for await other in group { result = result ?? other }
      end.fulfill(())
      if isAsked, case .failure(let error) = result, error is CancellationError { result = .success(()) }
      return result
    }
    await shutdown()
    try result?.get()
  }
}

extension Tap {
  /// Says once, after a second, what may keep the app from its end.
  private func warnOfWait(until end: Promise<Void>) {
    BackgroundThread.startNowOrLater { [recorder, redaction = configuration.logging.redaction, weak self] in
      guard end.wait(until: .now.advanced(by: .seconds(1))) == nil else { return }
      let (oldest, more) = recorder.oldestActiveRequests(limit: 1)
      let first = oldest.first.map { ", the oldest: \(redaction.shown($0))" } ?? ""
      self?.warn(
        "the app was asked to end, and has not ended; active requests: \(oldest.count + more)\(first)")
    }
  }
}

/// Handles SIGTERM and SIGINT from `init` until the first signal or `deinit`; then restores the previous
/// actions.
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
