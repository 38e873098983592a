import Dispatch

/// Runs an actor on a serial dispatch queue, so that the handlers of dispatch sources, which run on the same
/// queue, are inside of the actor. (`DispatchSerialQueue`, which is such an executor, is not on Linux.)
final class QueueExecutor: SerialExecutor {
  let queue: DispatchQueue

  init(label: String) {
    queue = DispatchQueue(label: label, qos: .userInitiated)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }
}
