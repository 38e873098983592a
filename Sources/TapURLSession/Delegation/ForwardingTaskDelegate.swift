import Foundation
import Synchronization
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking

  /// Stands before a delegate that hears of tasks: counts what is delivered of each body, and ends the requests
  /// whose end only a delegate is told.
  class ForwardingTaskDelegate: ForwardingDelegate, URLSessionTaskDelegate, @unchecked Sendable {
    /// What is known of a task on its way to its completion.
    private struct Delivery {
      /// What came of the body since the last head.
      var bytes: Int64 = 0
      var head: Instant?
      /// The requests that end with the task: one for each tap on the session.
      var waiting: [TappedRequest] = []
    }

    private let target: any URLSessionTaskDelegate
    private let deliveries = Mutex<[Int: Delivery]>([:])

    init(_ target: any URLSessionTaskDelegate) {
      self.target = target
      super.init(target)
    }

    /// Ends a request when its task has completed.
    func awaitCompletion(of task: URLSessionTask, request: TappedRequest) {
      deliveries.withLock {
        $0[task.taskIdentifier, default: Delivery()].waiting.append(request)
      }
    }

    /// Counts a piece of a body.
    func delivered(_ count: Int64, to task: URLSessionTask) {
      deliveries.withLock { $0[task.taskIdentifier, default: Delivery()].bytes += count }
    }

    /// The head of a response came, and its body is to follow. A second head is that of a request that was sent
    /// again, after a challenge or a suspension.
    func headArrived(for task: URLSessionTask) {
      let now = Instant.now
      deliveries.withLock {
        $0[task.taskIdentifier, default: Delivery()].bytes = 0
        $0[task.taskIdentifier, default: Delivery()].head = now
      }
    }

    /// A challenge came: what was delivered was not the answer. The head of a download's next leg is told to
    /// nobody.
    private func legEnded(of task: URLSessionTask) {
      deliveries.withLock {
        $0[task.taskIdentifier]?.bytes = 0
        $0[task.taskIdentifier]?.head = nil
      }
    }

    private func completed(_ task: URLSessionTask, error: (any Error)?) {
      guard let delivery = deliveries.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else {
        return
      }
      let bytes = isToldBytes(of: task) ? delivery.bytes : nil
      for request in delivery.waiting {
        request.completed(task, deliveredBytes: bytes, head: delivery.head, error: error)
      }
    }

    /// Whether the body of a task comes by here: Foundation gives it only to delegates of the right kind.
    private func isToldBytes(of task: URLSessionTask) -> Bool {
      task is URLSessionDownloadTask
        ? self is any URLSessionDownloadDelegate : self is any URLSessionDataDelegate
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
      legEnded(of: task)
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
#endif
