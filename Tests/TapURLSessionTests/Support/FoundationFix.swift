import TestSupport

/// What a later Foundation does otherwise, seen in what it does: it may be another one than the toolchain's.
enum FoundationFix {
  /// Whether a 401 without a credential comes through to the app, as from Swift 6.3.2 on
  /// (swift-corelibs-foundation 5457). Before, its task never ends.
  static let endsWithoutCredential: Bool = {
    let challenge = OriginStep.response(
      "401 Unauthorized", headers: [("WWW-Authenticate", "Basic realm=\"a\"")])
    guard let origin = try? Origin({ _ in [challenge] }) else { return false }
    defer { origin.stop() }
    let delegate = Delegate()
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    let task = session.dataTask(with: origin.url())
    task.resume()
    delegate.hasAnswered.waitBlocking()
    defer {
      task.cancel()
      session.finishTasksAndInvalidate()
    }
    return delegate.isComplete.isOpen
  }()

  private final class Delegate: NSObject, URLSessionTaskDelegate {
    let isComplete = Gate()
    let hasAnswered = Gate()

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      completionHandler(.performDefaultHandling, nil)
      // The queue is serial: if the task is complete now, its end comes before this.
      session.delegateQueue.addOperation { [hasAnswered] in hasAnswered.open() }
    }

    func urlSession(_: URLSession, task _: URLSessionTask, didCompleteWithError _: (any Error)?) {
      isComplete.open()
    }
  }
}
