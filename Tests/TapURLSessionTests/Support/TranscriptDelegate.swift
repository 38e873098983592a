import Foundation
import Synchronization
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Writes down what a session delegate hears.
final class TranscriptDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
  let done = Gate()
  private let uploadBody: [UInt8]
  private let state = Mutex(Transcript())

  init(uploadBody: [UInt8]) {
    self.uploadBody = uploadBody
  }

  var transcript: Transcript { state.withLock { $0 } }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    state.withLock { $0.note("response \((response as? HTTPURLResponse)?.statusCode ?? 0)") }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    state.withLock {
      $0.note("data")
      $0.body += data
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    state.withLock { $0.note("sent of \(totalBytesExpectedToSend)") }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping (InputStream?) -> Void
  ) {
    state.withLock { $0.note("needs a stream") }
    completionHandler(InputStream(data: Data(uploadBody)))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
  ) {
    state.withLock { $0.note("redirect \(response.statusCode) to \(request.url?.path ?? "")") }
    completionHandler(request)
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {
    state.withLock { $0.note("wrote of \(totalBytesExpectedToWrite)") }
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    state.withLock {
      $0.note("file")
      $0.body = (try? Data(contentsOf: location)).map(Array.init) ?? []
    }
    try? FileManager.default.removeItem(at: location)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    state.withLock {
      $0.note("complete")
      $0.note(task.response)
      $0.note(error)
    }
    done.open()
  }
}
