import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends the requests of a tapped session with a session of its own, where the native loaders are out of reach.
///
/// That is so on Apple's platforms, whose URLSession cannot be tapped as on Linux: what a tap sees there it has to
/// send. The session has the settings of the tapped one, and the same cookies, credentials and cache, less the
/// tap. On Linux this is compiled and tested, and not used.
final class ForwardingSession: Sendable {
  private let session: URLSession
  private let router: TransferRouter

  /// - Parameter configuration: The tapped session's, without the tap.
  init(_ configuration: URLSessionConfiguration) {
    router = TransferRouter()
    session = URLSession(configuration: configuration, delegate: router, delegateQueue: nil)
  }

  /// The session lives as long as its requests.
  deinit { session.finishTasksAndInvalidate() }

  /// Sends a request, and tells the transfer what comes back.
  func send(_ request: URLRequest, for transfer: ForwardedTransfer) {
    let task = session.dataTask(with: request)
    guard transfer.begin(task) else { return task.cancel() }
    router.add(transfer, for: task)
    task.resume()
  }
}

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
      // On Linux a client that gets a redirect ends the process (`_ProtocolClient` in
      // `URLSessionTask.swift` of swift-corelibs-foundation).
      completionHandler(request)
    #else
      // The tapped session asks its own delegate, and makes a new loader for the new request.
      transfer(of: task)?.redirected(to: request, by: response)
      completionHandler(nil)
    #endif
  }
}
