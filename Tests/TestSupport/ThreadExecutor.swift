/// Runs each task on a thread that it may block: there is always another one for the next task.
package final class ThreadExecutor: TaskExecutor {
  private struct State {
    var idle = 0
    var jobs: [UnownedJob] = []
  }

  package static let shared = ThreadExecutor()

  private let state = Mutex(State())
  private let arrived = DispatchSemaphore(value: 0)

  private init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isTaken = state.withLock { state in
      state.jobs.append(job)
      guard state.idle > 0 else { return false }
      state.idle -= 1
      return true
    }
    if isTaken { arrived.signal() } else { Thread.detachNewThread { self.work() } }
  }

  /// Each thread takes one job for each time that it is started or woken.
  private func work() {
    while true {
      let job = state.withLock { $0.jobs.removeFirst() }
      job.runSynchronously(on: asUnownedTaskExecutor())
      state.withLock { $0.idle += 1 }
      arrived.wait()
    }
  }
}
