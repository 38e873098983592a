import Foundation
import SessionTap

/// Starts a session's task, whose completion calls what `make` is given, and waits for that. It comes soon after a cancel: that of the
/// Swift task, or the one after the delay.
///
/// `Task.cancel()` around `session.data(for:)` can stand still for ever where it meets the end of the request, and all of the
/// process's sessions with it (swift-corelibs-foundation #5412). So it is the session's task that is cancelled.
func cancellableCall<Answer: Sendable>(
  cancelledAfter delay: Duration? = nil, _ make: (@escaping @Sendable (Answer) -> Void) -> URLSessionTask
) async -> Answer {
  let answer = Promise<Answer>()
  let task = make(answer.fulfill)
  // On another thread: `URLSessionTask.cancel()` waits for Foundation's queue, and who cancels a Swift task holds its lock.
  @Sendable func cancel(after delay: Duration) {
    DispatchQueue.global().asyncAfter(deadline: .now() + delay / .seconds(1)) { task.cancel() }
  }
  task.resume()
  if let delay { cancel(after: delay) }
  return await withTaskCancellationHandler {
    await answer.value
  } onCancel: {
    cancel(after: .zero)
  }
}
