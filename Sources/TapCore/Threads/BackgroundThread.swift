#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A detached thread of the library's own.
package enum BackgroundThread {
  /// The system gave no thread.
  package struct Failure: Error, Hashable {
    /// An `errno`.
    package let code: Int32
  }

  /// When the processor serves a thread that has something to do.
  package enum Priority: Sendable {
    /// As any thread of the app.
    case standard
    /// Rather when the app's threads leave it idle: their moments of rest are many and short. It still gets its turn
    /// on a machine that is never idle.
    case low
  }

  /// Runs the body on a new thread, on which no signal is delivered: a write to a pipe without a reader or past the
  /// file size limit then fails with an error instead of ending the process (SIGPIPE, SIGXFSZ), and the
  /// app's handlers run on the app's threads.
  package static func start(
    _ priority: Priority = .standard, _ body: @escaping @Sendable () -> Void
  ) throws(Failure) {
    let box = Unmanaged.passRetained(Box(priority, body))
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
        let box = Unmanaged<Box>.fromOpaque(argument).takeRetainedValue()
        if box.priority == .low { BackgroundThread.yieldToOthers() }
        box.body()
        return nil
      }, box.toOpaque())
    guard code == 0 else {
      box.release()
      throw Failure(code: code)
    }
  }

  /// What tells the calling thread from the others that run. Never 0.
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

  /// Lowers the priority of the calling thread.
  private static func yieldToOthers() {
    #if canImport(Darwin)
      pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
    #else
      // On Linux a nice value is a thread's own (setpriority(2), "C library/kernel differences").
      _ = nice(10)
    #endif
  }

  private final class Box: Sendable {
    let priority: Priority
    let body: @Sendable () -> Void

    init(_ priority: Priority, _ body: @escaping @Sendable () -> Void) {
      self.priority = priority
      self.body = body
    }
  }
}
