import Foundation
import SessionTap
import Synchronization

/// Starts a session's task, which completes by calling what `make` is given, and waits for it. It ends soon
/// after a cancel: that of the Swift task, or the one after the delay.
///
/// `Task.cancel()` around `session.data(for:)` can block for ever when it meets the end of the request, and
/// with it all sessions of the process (swift-corelibs-foundation #5412). So this cancels the session's task.
func cancellableCall<Answer: Sendable>(
  cancelledAfter delay: Duration? = nil,
  _ make: @escaping (@escaping @Sendable (Answer) -> Void) -> URLSessionTask
) async -> Answer {
  let started = Mutex<URLSessionTask?>(nil)
  // On another thread: `URLSessionTask.cancel()` waits for Foundation's queue, and the caller that cancels a
  // Swift task has its lock.
  @Sendable func cancel(after delay: Duration) {
    DispatchQueue.global().asyncAfter(deadline: .now() + delay / .seconds(1)) {
      started.withLock { $0 }?.cancel()
    }
  }
  return await withTaskCancellationHandler {
    await withCheckedContinuation { continuation in
      let task = make { answer in
        // A cancel that comes later finds nothing, and keeps nothing until then.
        started.withLock { $0 = nil }
        continuation.resume(returning: answer)
      }
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
