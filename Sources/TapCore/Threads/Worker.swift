import Synchronization

/// Work that a ``Worker`` does for its owner, when it is asked and when it is due.
package protocol BackgroundJob: AnyObject, Sendable {
  /// - Returns: When to do so again at the latest, or ``Instant/never`` if only when asked: the worker releases the job until then.
  func run(at now: Instant) -> Instant
}

/// A thread that runs one job, and is there only while there is something to do.
///
/// Each wake-up of a thread delays the app's own. So most work waits for the next multiple of 100 ms (``Instant/nextTick``), and all
/// workers of a process wake at the same moments.
package final class Worker: Sendable {
  private struct State {
    /// The job, until it has run and has no next time.
    var job: (any BackgroundJob)?
    var due = Instant.never
    var hasThread = false
    /// The thread ends after so long without work. The next run starts another.
    var idleTime: Duration
  }

  /// In nanoseconds.
  static let interval: Int64 = 100_000_000

  private let state: Mutex<State>
  private let work = EventCount()

  package init(idleTime: Duration = .seconds(1)) { state = Mutex(State(idleTime: idleTime)) }

  /// Says that no work will come: the thread ends once nothing is due.
  package func end() {
    state.withLock { $0.idleTime = .zero }
    work.signal()
  }

  /// Runs the job not later than at an instant. Each call is with the same one.
  package func run(_ job: any BackgroundJob, by instant: Instant = .now) throws(System.Failure) {
    let needsThread = state.withLock { state in
      if instant < state.due {
        state.job = job
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
      state.withLock { $0 = State(idleTime: $0.idleTime) }
      throw error
    }
  }

  private func run() {
    while true {
      let (ticket, now) = (work.ticket, Instant.now)
      let (due, idleTime) = state.withLock { ($0.due, $0.idleTime) }
      if due <= now {
        runJob()
      } else if !work.wait(past: ticket, until: due < .never ? due : now.advanced(by: idleTime)),
        due == .never
      {
        let ends = state.withLock { state in
          state.hasThread = state.due < .never
          return !state.hasThread
        }
        if ends { return }
      }
    }
  }

  private func runJob() {
    let job = state.withLock { state in
      state.due = .never
      return state.job
    }
    guard let next = job?.run(at: .now) else { return }
    state.withLock { state in
      state.due = min(state.due, next)
      if state.due == .never { state.job = nil }
    }
  }
}

extension Instant {
  /// The next moment at which all workers of the process do what can wait.
  package static var nextTick: Instant { .now.next(multipleOf: Worker.interval) }
}
