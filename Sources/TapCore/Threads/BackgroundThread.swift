import TapLibc

package enum BackgroundThread {
  /// Runs the body on a new thread, on which no signal is delivered: a write to a pipe without a reader or past the
  /// file size limit then fails with an error instead of ending the process (SIGPIPE, SIGXFSZ), and the
  /// app's handlers run on the app's threads. Its priority is that of any thread: those that an observer of the app's starts
  /// here, such as Dispatch's workers, would inherit a lower one for as long as they live (clone(2)). Throws if there is no thread.
  package static func start(_ body: @escaping @Sendable () -> Void) throws(System.Failure) {
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

  /// Runs a body that may block, and returns its result. It runs on a new thread, which none of the app's work can delay; where
  /// the system gives none, on the caller's.
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

  /// Blocks all signals but those that a fault of this very thread raises.
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
