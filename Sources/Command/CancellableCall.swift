import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A session's task that is cancelled with the Swift task that waits for it.
///
/// `Task.cancel()` around `session.data(for:)` can stand still for ever where it meets the end of the request, and all of the
/// process's sessions with it (swift-corelibs-foundation #5412). So it is the session's task that is cancelled.
final class CancellableCall: Sendable {
  private let state = Mutex<(task: URLSessionTask?, isCancelled: Bool)>((nil, false))

  /// Starts a task, whose completion calls what `make` is given, and waits for that. It comes soon after a cancel: that of the Swift
  /// task, or the one after the delay.
  static func run<Answer: Sendable>(
    cancelledAfter delay: Duration? = nil, _ make: (@escaping @Sendable (Answer) -> Void) -> URLSessionTask
  ) async -> Answer {
    let call = CancellableCall()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        call.start(make { continuation.resume(returning: $0) })
        if let delay { call.cancel(after: delay) }
      }
    } onCancel: {
      call.cancel(after: .zero)
    }
  }

  /// The task may have been cancelled before it is there.
  private func start(_ task: URLSessionTask) {
    task.resume()
    let isCancelled = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isCancelled { cancel(after: .zero) }
  }

  /// On another thread: `URLSessionTask.cancel()` waits for Foundation's queue, and who cancels a Swift task holds its lock.
  private func cancel(after delay: Duration) {
    DispatchQueue.global().asyncAfter(deadline: .now() + delay / .seconds(1)) { [self] in
      let task = state.withLock { state in
        state.isCancelled = true
        return state.task
      }
      task?.cancel()
    }
  }
}
