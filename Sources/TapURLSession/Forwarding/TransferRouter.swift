import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The delegate of a ``ForwardingSession``: hands each event to the transfer that it belongs to.
final class TransferRouter: NSObject, URLSessionDataDelegate {
  private let transfers = Mutex<[Int: ForwardedTransfer]>([:])

  func add(_ transfer: ForwardedTransfer, for task: URLSessionTask) {
    transfers.withLock { $0[task.taskIdentifier] = transfer }
  }

  private func transfer(of task: URLSessionTask) -> ForwardedTransfer? {
    transfers.withLock { $0[task.taskIdentifier] }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @Sendable @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    transfer(of: dataTask)?.received(response)
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    transfer(of: dataTask)?.received(data)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
  ) {
    transfer(of: task)?.measured(metrics)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.completed(error)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @Sendable @escaping (URLRequest?) -> Void
  ) {
    #if canImport(FoundationNetworking)
      // On Linux a client that is told of a redirect ends the process (`_ProtocolClient` in
      // `URLSessionTask.swift` of swift-corelibs-foundation).
      completionHandler(request)
    #else
      // The tapped session asks its own delegate, and makes a new loader for the new request.
      transfer(of: task)?.redirected(to: request, by: response)
      completionHandler(nil)
    #endif
  }
}
