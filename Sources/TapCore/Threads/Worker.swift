import Synchronization

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
