import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension DemoRequest {
  /// Makes the request, and waits for its answer. The tap records failures. Here a failed call has an empty answer.
  ///
  /// `Task.cancel()` around `session.data(for:)` can stand still for ever where it meets the end of the request, and all of the
  /// process's sessions with it (swift-corelibs-foundation #5412). So it is the session's task that is cancelled.
  func answer(to request: URLRequest, in session: URLSession) async -> DemoAnswer {
    let call = CancellableCall()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        call.start(task(for: request, in: session) { continuation.resume(returning: $0) })
        if self == .abandoned { call.cancel(after: .milliseconds(200)) }
      }
    } onCancel: {
      call.cancel(after: .zero)
    }
  }

  private func task(
    for request: URLRequest, in session: URLSession, _ complete: @escaping @Sendable (DemoAnswer) -> Void
  ) -> URLSessionTask {
    @Sendable func answer(_ response: URLResponse?, _ error: (any Error)?, _ bytes: Int) -> DemoAnswer {
      guard error == nil, let response = response as? HTTPURLResponse else { return DemoAnswer() }
      return DemoAnswer(statusCode: response.statusCode, bytes: bytes)
    }
    if self == .report {
      return session.downloadTask(with: request) { complete(answer($1, $2, DemoOrigin.monthlyReportSize)) }
    }
    return session.dataTask(with: request) { complete(answer($1, $2, $0?.count ?? 0)) }
  }
}

/// A task that is cancelled at any time, also before it is there.
private final class CancellableCall: Sendable {
  private let state = Mutex<(task: URLSessionTask?, isCancelled: Bool)>((nil, false))

  func start(_ task: URLSessionTask) {
    task.resume()
    let isCancelled = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isCancelled { cancel(after: .zero) }
  }

  /// On another thread: `URLSessionTask.cancel()` waits for Foundation's queue, and who cancels a Swift task holds its lock.
  func cancel(after delay: Duration) {
    DispatchQueue.global().asyncAfter(deadline: .now() + delay / .seconds(1)) { [self] in
      let task = state.withLock { state in
        state.isCancelled = true
        return state.task
      }
      task?.cancel()
    }
  }
}
