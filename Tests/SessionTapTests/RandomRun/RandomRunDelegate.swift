import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tells of the completion of each task of a session.
final class RandomRunDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
  private let completions = Mutex<[Int: @Sendable () -> Void]>([:])

  func whenComplete(_ task: URLSessionTask, _ completion: @escaping @Sendable () -> Void) {
    completions.withLock { $0[task.taskIdentifier] = completion }
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    try? FileManager.default.removeItem(at: location)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    completions.withLock { $0.removeValue(forKey: task.taskIdentifier) }?()
  }
}
