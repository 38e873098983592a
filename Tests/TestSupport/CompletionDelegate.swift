/// Tells of the completion of each task of a session.
package final class CompletionDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
  private let completions = Mutex<[Int: @Sendable () -> Void]>([:])

  package func whenComplete(_ task: URLSessionTask, _ completion: @escaping @Sendable () -> Void) {
    completions.withLock { $0[task.taskIdentifier] = completion }
  }

  package func urlSession(
    _: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo file: URL
  ) {
    try? FileManager.default.removeItem(at: file)
  }

  package func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    completions.withLock { $0.removeValue(forKey: task.taskIdentifier) }?()
  }
}
