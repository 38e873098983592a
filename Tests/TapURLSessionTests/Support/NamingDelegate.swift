import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Implements every callback that Foundation on Linux declares, and writes down which were called.
final class NamingDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate,
  URLSessionWebSocketDelegate
{
  private let names = Mutex<[String]>([])
  var called: [String] { names.withLock { $0 } }
  private func note(_ name: String) { names.withLock { $0.append(name) } }

  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { note("invalid") }

  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @Sendable @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    note("session challenge")
    completionHandler(.rejectProtectionSpace, nil)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @Sendable @escaping (URLRequest?) -> Void
  ) {
    note("redirect \(response.statusCode)")
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @Sendable @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    note("challenge \(challenge.previousFailureCount)")
    completionHandler(.cancelAuthenticationChallenge, nil)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @Sendable @escaping (InputStream?) -> Void
  ) {
    note("stream")
    completionHandler(InputStream(data: Data()))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) { note("sent \(bytesSent) \(totalBytesSent) \(totalBytesExpectedToSend)") }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    note("complete \((error as? URLError)?.code.rawValue ?? 0)")
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @Sendable @escaping (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
  ) {
    note("delayed")
    completionHandler(.cancel, nil)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
  ) { note("metrics") }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @Sendable @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    note("response")
    completionHandler(.cancel)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
  ) { note("became a download") }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask
  ) { note("became a stream") }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    note("data \(data.count)")
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse response: CachedURLResponse,
    completionHandler: @Sendable @escaping (CachedURLResponse?) -> Void
  ) {
    note("cache")
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) { note("file \(location.path)") }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) { note("wrote \(bytesWritten) \(totalBytesWritten) \(totalBytesExpectedToWrite)") }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
    expectedTotalBytes: Int64
  ) { note("resumed \(fileOffset) \(expectedTotalBytes)") }

  func urlSession(
    _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
  ) { note("opened \(`protocol` ?? "")") }

  func urlSession(
    _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
    didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
  ) { note("closed \(closeCode.rawValue) \(reason?.count ?? 0)") }
}
