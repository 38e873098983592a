import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking

  /// Stands before a delegate that hears of tasks: counts what is delivered of each body, and ends the requests
  /// whose end only a delegate is told.
  class ForwardingTaskDelegate: ForwardingDelegate, URLSessionTaskDelegate, @unchecked Sendable {
    /// What is known of a task on its way to its completion.
    private struct Delivery {
      /// What came of the body since the last head.
      var bytes: Int64 = 0
      var head: ContinuousClock.Instant?
      /// The requests that end with the task: one for each tap on the session.
      var waiting: [(request: TappedRequest, ending: TransferEnding?)] = []
    }

    private let target: any URLSessionTaskDelegate
    private let deliveries = Mutex<[Int: Delivery]>([:])

    init(_ target: any URLSessionTaskDelegate) {
      self.target = target
      super.init(target)
    }

    /// Ends a request when its task has completed.
    ///
    /// - Parameter ending: What is known already, if the loader is done. Only the size is then to be learned.
    func awaitCompletion(of task: URLSessionTask, request: TappedRequest, ending: TransferEnding?) {
      deliveries.withLock {
        $0[task.taskIdentifier, default: Delivery()].waiting.append((request, ending))
      }
    }

    /// Counts a piece of a body.
    func delivered(_ count: Int64, to task: URLSessionTask) {
      deliveries.withLock { $0[task.taskIdentifier, default: Delivery()].bytes += count }
    }

    /// The head of a response came, and its body is to follow: what came before was another one's, of a leg that a
    /// challenge or a suspension ended.
    func headArrived(for task: URLSessionTask) {
      let now = ContinuousClock.now
      deliveries.withLock {
        $0[task.taskIdentifier, default: Delivery()].bytes = 0
        $0[task.taskIdentifier, default: Delivery()].head = now
      }
    }

    private func completed(_ task: URLSessionTask, error: (any Error)?) {
      guard let delivery = deliveries.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else {
        return
      }
      let bytes = isToldBytes(of: task) ? delivery.bytes : nil
      for (request, ending) in delivery.waiting {
        if let error {
          request.failed(error)
        } else if var ending {
          ending.deliver(bytes)
          request.end(ending)
        } else {
          request.ended(task, delivered: bytes, firstByte: delivery.head)
        }
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
      // A second leg begins. The head of a download's is told to nobody.
      if task is URLSessionDownloadTask { headArrived(for: task) }
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
