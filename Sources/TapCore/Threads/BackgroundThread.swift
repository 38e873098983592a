import Synchronization
import TapLibc

/// Starts threads. Counts each start that the system refuses, and reports one a minute on standard error.
package enum BackgroundThread {
  private struct State {
    var reports = MinuteLimit(1)
    /// Bodies that run on threads of their own as soon as the system gives any.
    var postponed: [@Sendable () -> Void] = []
  }

  private static let state = Mutex(State())
  private static let refused = Atomic<UInt64>(0)
  private static let postponedLimit = 64

  /// The starts that the system refused in this process.
  package static var refusedCount: UInt64 { refused.load(ordering: .relaxed) }

  /// Runs the body on a new thread, on which no signal is delivered: a write to a pipe without a reader or
  /// past the file size limit then fails with an error instead of ending the process (SIGPIPE, SIGXFSZ), and
  /// the app's handlers run on the app's threads. The thread has the default priority: threads that an
  /// observer of the app's starts from it, such as Dispatch's workers, would inherit a lower one (clone(2)).
  ///
  /// Throws if the system refuses the thread, as at a limit of tasks. The caller tries again when it next
  /// needs one.
  package static func start(_ body: @escaping @Sendable () -> Void) throws(System.Failure) {
    do {
      try create(body)
    } catch {
      refused.wrappingAdd(1, ordering: .relaxed)
      report(error)
      throw error
    }
    if refusedCount > 0 { startPostponed() }
  }

  /// Runs the body on a new thread: now, or when a later start of any thread succeeds.
  /// - Returns: Whether it runs now.
  @discardableResult package static func startNowOrLater(_ body: @escaping @Sendable () -> Void) -> Bool {
    do {
      try start(body)
      return true
    } catch {
      state.withLock { if $0.postponed.count < postponedLimit { $0.postponed.append(body) } }
      return false
    }
  }

  private static func startPostponed() {
    var bodies = state.withLock { exchange(&$0.postponed, with: []) }[...]
    while let body = bodies.first, (try? create(body)) != nil { bodies.removeFirst() }
    if !bodies.isEmpty { state.withLock { $0.postponed = bodies + $0.postponed } }
  }

  private static func report(_ failure: System.Failure) {
    if state.withLock({ $0.reports.admit(at: .now) }) == nil { return }
    StandardError.write(
      line: "session-tap: cannot start a thread: \(failure); it is tried again when one is needed "
        + "(raise the limit of tasks: ulimit -u, pids.max of the cgroup)")
  }

  private static func create(_ body: @escaping @Sendable () -> Void) throws(System.Failure) {
    let box = Unmanaged.passRetained(Box(body))
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    let code = pthread_create(
      &thread, nil,
      { (argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? in
        guard let argument else { return nil }
        pthread_detach(pthread_self())
        BackgroundThread.blockSignals()
        Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body()
        return nil
      }, box.toOpaque())
    guard code == 0 else {
      box.release()
      throw System.Failure(code: code)
    }
  }

  /// Runs a body that may block, and returns its result. It runs on a new thread, which none of the app's
  /// work can delay, or on the caller's thread if the system refuses one.
  package static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      let work: @Sendable () -> Void = { continuation.resume(returning: body()) }
      do { try start(work) } catch { work() }
    }
  }

  /// The identity of the calling thread among the running ones. Never 0.
  package static var current: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }

  /// Blocks all signals but those that a fault of this thread raises.
  private static func blockSignals() {
    var signals = sigset_t()
    sigfillset(&signals)
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { sigdelset(&signals, fault) }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  private final class Box: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}
