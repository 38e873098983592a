import Foundation
import SessionTap
import Synchronization

/// Starts a session's task, whose completion calls what `make` is given, and waits for that. It comes soon
/// after a cancel: that of the Swift task, or the one after the delay.
///
/// `Task.cancel()` around `session.data(for:)` can stand still for ever where it meets the end of the
/// request, and all of the process's sessions with it (swift-corelibs-foundation #5412). So it is the
/// session's task that is cancelled.
func cancellableCall<Answer: Sendable>(
  cancelledAfter delay: Duration? = nil,
  _ make: @escaping (@escaping @Sendable (Answer) -> Void) -> URLSessionTask
) async -> Answer {
  let started = Mutex<URLSessionTask?>(nil)
  // On another thread: `URLSessionTask.cancel()` waits for Foundation's queue, and what cancels a Swift task
  // holds its lock.
  @Sendable func cancel(after delay: Duration) {
    DispatchQueue.global().asyncAfter(deadline: .now() + delay / .seconds(1)) {
      started.withLock { $0 }?.cancel()
    }
  }
  return await withTaskCancellationHandler {
    await withCheckedContinuation { continuation in
      let task = make { continuation.resume(returning: $0) }
      started.withLock { $0 = task }
      task.resume()
      if let delay { cancel(after: delay) }
      // The Swift task may have been cancelled before there was a task to cancel.
      if Task.isCancelled { cancel(after: .zero) }
    }
  } onCancel: {
    cancel(after: .zero)
  }
}
