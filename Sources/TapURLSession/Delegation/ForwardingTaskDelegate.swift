import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Stands before a delegate that hears of tasks: counts what is delivered of each body, and ends the requests
/// whose end only a delegate is told.
class ForwardingTaskDelegate: ForwardingDelegate, URLSessionTaskDelegate, @unchecked Sendable {
  /// What is known of a task on its way to its completion.
  private struct Delivery {
    var bytes: Int64 = 0
    var request: TappedRequest?
  }

  private let target: any URLSessionTaskDelegate
  private let deliveries = Mutex<[Int: Delivery]>([:])

  init(_ target: any URLSessionTaskDelegate) {
    self.target = target
    super.init(target)
  }

  /// Ends a request when its task has completed.
  func awaitCompletion(of task: URLSessionTask, request: TappedRequest) {
    deliveries.withLock { $0[task.taskIdentifier, default: Delivery()].request = request }
  }

  /// Counts a piece of a body.
  func delivered(_ count: Int, to task: URLSessionTask) {
    deliveries.withLock { $0[task.taskIdentifier, default: Delivery()].bytes += Int64(count) }
  }

  private func completed(_ task: URLSessionTask, error: (any Error)?) {
    let delivery = deliveries.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    delivery?.request?.completed(task, deliveredBytes: delivery?.bytes ?? 0, error: error)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @Sendable @escaping (URLRequest?) -> Void
  ) {
    target.urlSession(
      session, task: task, willPerformHTTPRedirection: response, newRequest: request,
      completionHandler: completionHandler)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @Sendable @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    target.urlSession(session, task: task, didReceive: challenge, completionHandler: completionHandler)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @Sendable @escaping (InputStream?) -> Void
  ) {
    target.urlSession(session, task: task, needNewBodyStream: completionHandler)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    target.urlSession(
      session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
      totalBytesExpectedToSend: totalBytesExpectedToSend)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    // Before the app hears of it, as everywhere.
    completed(task, error: error)
    target.urlSession(session, task: task, didCompleteWithError: error)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @Sendable @escaping (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
  ) {
    target.urlSession(
      session, task: task, willBeginDelayedRequest: request, completionHandler: completionHandler)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
  ) {
    target.urlSession(session, task: task, didFinishCollecting: metrics)
  }
}
