import Synchronization

/// Work that a ``Worker`` does for its owner, at intervals or when it is asked.
package protocol BackgroundJob: AnyObject, Sendable {
  /// Does what is due.
  ///
  /// - Returns: When to ask again, ``Instant/never`` to wait for a signal, or `nil` when there is nothing more to do: the job is
  ///   then forgotten.
  func run(at now: Instant) -> Instant?
}

/// A thread that runs jobs, one after another, and is there only while there are any.
package final class Worker: Sendable {
  private struct State {
    var jobs: [any BackgroundJob] = []
    var hasThread = false
  }

  private let state = Mutex(State())
  private let work = EventCount()
  private let rest: Duration

  /// - Parameter rest: A thread whose jobs wait for nothing but a signal ends after so long. The next one starts another.
  package init(rest: Duration = .seconds(1)) {
    self.rest = rest
  }

  /// Runs a job soon, before those that there are, and until it has nothing more to do.
  package func schedule(_ job: any BackgroundJob) throws(BackgroundThread.Failure) {
    state.withLock { if !$0.jobs.contains(where: { $0 === job }) { $0.jobs.insert(job, at: 0) } }
    try signal()
  }

  /// Runs the jobs soon.
  package func signal() throws(BackgroundThread.Failure) {
    let needsThread = state.withLock { state in
      // Under the lock: a thread that is about to end sees the signal.
      if state.hasThread { work.signal() }
      defer { state.hasThread = true }
      return !state.hasThread
    }
    guard needsThread else { return }
    do {
      try BackgroundThread.start { self.run() }
    } catch {
      state.withLock { $0.hasThread = false }
      throw error
    }
  }

  private func run() {
    while true {
      let ticket = work.ticket
      // Taken out while they run: one that is scheduled meanwhile stays, whatever its run returns.
      let jobs = state.withLock { state in
        defer { state.jobs = [] }
        return state.jobs
      }
      var due = Instant.never
      for job in jobs {
        guard let next = job.run(at: .now) else { continue }
        due = min(due, next)
        state.withLock { if !$0.jobs.contains(where: { $0 === job }) { $0.jobs.append(job) } }
      }
      let isResting = due == .never
      let isSignalled = work.wait(past: ticket, until: isResting ? .now.advanced(by: rest) : due)
      guard isResting, !isSignalled else { continue }
      let ends = state.withLock { state in
        if work.ticket == ticket { state.hasThread = false }
        return !state.hasThread
      }
      if ends { return }
    }
  }
}
