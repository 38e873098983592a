import Foundation
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Cancels the task when it is asked about a redirect, and then answers.
final class CancellingDelegate: NSObject, URLSessionDataDelegate {
  let done = Gate()

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @Sendable @escaping (URLRequest?) -> Void
  ) {
    task.cancel()
    completionHandler(request)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    // Behind whatever the answer to the redirect has still to do on Foundation's queue.
    session.getAllTasks { [done] _ in done.open() }
  }
}
