import Synchronization
import TapLibc

/// Work that a ``Worker`` does for its owner, when it is asked and when it is due.
package protocol BackgroundJob: AnyObject, Sendable {
  /// - Returns: When to do so again at the latest, ``Instant/never`` if only when asked, or `nil` if the worker may forget the job
  ///   until it is asked again.
  func run(at now: Instant) -> Instant?
}

/// A thread that runs jobs, one after another, and is there only while there is something to do.
///
/// Each wake-up of a thread delays the app's own. So most work waits for the next multiple of 100 ms (``Instant/nextTick``), and all
/// workers of a process wake at the same moments.
package final class Worker: Sendable {
  private struct State {
    var entries: [Entry] = []
    /// When the jobs run next.
    var due = Instant.never
    var hasThread = false
  }

  private struct Entry {
    let job: any BackgroundJob
    /// Since the jobs ran last.
    var isAsked = true
  }

  static let interval = Duration.milliseconds(100)

  private let state = Mutex(State())
  private let work = EventCount()
  private let rest: Duration

  /// - Parameter rest: The thread ends after so long without a job that is due. The next job that is asked for starts another.
  package init(rest: Duration = .seconds(1)) {
    self.rest = rest
  }

  /// Runs a job not later than at an instant, and the others with it. A job that is not there yet runs before those that are:
  /// what it hands to one of them is done in the same turn.
  package func run(_ job: any BackgroundJob, by instant: Instant = .now) throws(System.Failure) {
    let needsThread = state.withLock { state in
      if let index = state.entries.firstIndex(where: { $0.job === job }) {
        state.entries[index].isAsked = true
      } else {
        state.entries.insert(Entry(job: job), at: 0)
      }
      if instant < state.due {
        state.due = instant
        // Under the lock: a thread that is about to end sees the signal.
        if state.hasThread { work.signal() }
      }
      defer { state.hasThread = true }
      return !state.hasThread
    }
    guard needsThread else { return }
    do {
      try BackgroundThread.start { self.run() }
    } catch {
      state.withLock { state in
        state.hasThread = false
        state.entries.removeAll { $0.job === job }
      }
      throw error
    }
  }

  private func run() {
    while true {
      let ticket = work.ticket
      let due = state.withLock { $0.due }
      if due <= .now {
        runJobs()
      } else if due < .never {
        work.wait(past: ticket, until: due)
      } else if !work.wait(past: ticket, until: .now.advanced(by: rest)) {
        let ends = state.withLock { state in
          if state.due == .never { state.hasThread = false }
          return !state.hasThread
        }
        if ends { return }
      }
    }
  }

  private func runJobs() {
    let jobs = state.withLock { state in
      state.due = .never
      for index in state.entries.indices { state.entries[index].isAsked = false }
      return state.entries.map(\.job)
    }
    for job in jobs {
      let next = job.run(at: .now)
      state.withLock { state in
        state.due = min(state.due, next ?? .never)
        if next == nil { state.entries.removeAll { $0.job === job && !$0.isAsked } }
      }
    }
  }
}

extension Instant {
  /// The next moment at which all workers of the process do what can wait.
  package static var nextTick: Instant { .now.next(multipleOf: Worker.interval) }
}

/// A detached thread of the library's own.
package enum BackgroundThread {
  /// Runs the body on a new thread, on which no signal is delivered: a write to a pipe without a reader or past the
  /// file size limit then fails with an error instead of ending the process (SIGPIPE, SIGXFSZ), and the
  /// app's handlers run on the app's threads. Its priority is that of any thread: those that an observer of the app's starts
  /// here, such as Dispatch's workers, would inherit a lower one for as long as they live (clone(2)). Throws if the system gives no
  /// thread.
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

/// Wakes threads that wait for a condition which another lock guards.
///
/// The waiter reads ``ticket`` first, looks at its condition next, and waits for a later event last: an event
/// between the look and the wait is not lost. `Synchronization` has a mutex and no condition variable;
/// this is the one place that uses those of POSIX.
package final class EventCount: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  /// Guarded by `mutex`.
  private var events: UInt64 = 0

  package init() {
    pthread_mutex_init(mutex, nil)
    #if canImport(Darwin)
      pthread_cond_init(condition, nil)
    #else
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  package var ticket: UInt64 {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return events
  }

  package func signal() {
    pthread_mutex_lock(mutex)
    events &+= 1
    pthread_cond_broadcast(condition)
    pthread_mutex_unlock(mutex)
  }

  /// Waits for an event after `ticket`. Gives `false` if the deadline came first.
  @discardableResult
  package func wait(past ticket: UInt64, until deadline: Instant) -> Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while events == ticket {
      if deadline == .never {
        pthread_cond_wait(condition, mutex)
        continue
      }
      let now = Instant.now
      guard now < deadline else { return false }
      #if canImport(Darwin)
        var left = Self.time(deadline.nanoseconds - now.nanoseconds)
        pthread_cond_timedwait_relative_np(condition, mutex, &left)
      #else
        var time = Self.time(deadline.nanoseconds)
        pthread_cond_timedwait(condition, mutex, &time)
      #endif
    }
    return true
  }

  private static func time(_ nanoseconds: Int64) -> timespec {
    timespec(tv_sec: .init(nanoseconds / 1_000_000_000), tv_nsec: .init(nanoseconds % 1_000_000_000))
  }
}
