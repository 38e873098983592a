import Synchronization

/// Work that a ``Worker`` does for its owner, when it is asked and when it is due.
package protocol BackgroundJob: AnyObject, Sendable {
  /// - Returns: When to do so again at the latest, or ``Instant/never`` if only when asked: the worker
  ///   releases the job until then.
  func run(at now: Instant) -> Instant
}

/// Runs one job on a thread, which ends when it has been idle for a second.
///
/// Each wake-up of a thread delays the app's own. So most work waits for the next multiple of 100 ms
/// (``Instant/nextTick``), and all workers of a process wake at the same moments.
package final class Worker: Sendable {
  private struct State {
    /// The job, until it has run and has no next time.
    var job: (any BackgroundJob)?
    var due = Instant.never
    var hasThread = false
    /// The thread ends after so long without work. The next run starts another.
    var idleTime: Duration
    /// ``Worker/end()`` was called since the job began to run: its answer may be from before.
    var asksAgain = false
    /// The starts that the system has refused since the last thread, and when it refused the last one.
    var refusals = 0
    var lastRefusal = Instant.never
  }

  /// In nanoseconds.
  static let interval: Int64 = 100_000_000
  /// After so many refused starts in a row, calls try again once a millisecond: a refused start takes up to
  /// 50 µs of the calling thread, which may be a request's.
  private static let triesInRow = 1_000

  private let state: Mutex<State>
  private let work = EventCount()
  private let isWithoutThread = Atomic(false)

  package init(idleTime: Duration = .seconds(1)) { state = Mutex(State(idleTime: idleTime)) }

  /// The system refused a thread: the next call of ``run(_:by:)`` tries again.
  var lacksThread: Bool { isWithoutThread.load(ordering: .relaxed) }

  /// Says that no work will come, and that the job knows: it runs once more if it was to run later, and the
  /// thread ends once nothing is due.
  package func end() {
    state.withLock { state in
      (state.idleTime, state.asksAgain) = (.zero, true)
      if state.due < .never { state.due = .now }
    }
    work.signal()
  }

  /// Runs the job at an instant or earlier. Each call passes the same job. If the system refuses a thread,
  /// this throws, and the job does not run.
  package func run(_ job: any BackgroundJob, by instant: Instant = .now) throws(System.Failure) {
    try state.withLock { (state) throws(System.Failure) in
      guard state.hasThread else { return try start(&state, job, by: instant) }
      guard instant < state.due else { return }
      (state.job, state.due) = (job, instant)
      // Under the lock: a thread that is about to end sees the signal.
      work.signal()
    }
  }

  /// Under the lock, so that no call relies on a thread that fails to start.
  private func start(
    _ state: inout State, _ job: any BackgroundJob, by instant: Instant
  ) throws(System.Failure) {
    let now = Instant.now
    if state.refusals >= Self.triesInRow, now < state.lastRefusal.advanced(by: .milliseconds(1)) {
      throw .again
    }
    do {
      try BackgroundThread.start { self.run() }
    } catch {
      state.refusals += 1
      state.lastRefusal = now
      isWithoutThread.store(true, ordering: .relaxed)
      throw error
    }
    isWithoutThread.store(false, ordering: .relaxed)
    (state.job, state.due, state.hasThread, state.refusals) = (job, instant, true, 0)
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
      (state.due, state.asksAgain) = (.never, false)
      return state.job
    }
    guard let next = job?.run(at: .now) else { return }
    state.withLock { state in
      state.due = min(state.due, state.asksAgain ? .now : next)
      if state.due == .never { state.job = nil }
    }
  }
}

extension Instant {
  /// The next moment at which all workers of the process do what can wait.
  package static var nextTick: Instant { now.nextTick }

  /// The first such moment after this one; ``never`` stays.
  var nextTick: Instant { next(multipleOf: Worker.interval) }
}
