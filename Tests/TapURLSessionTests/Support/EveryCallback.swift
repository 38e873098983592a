import Foundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Calls every callback of a delegate as Foundation would, by the delegate's conformances, and notes its answers.
struct EveryCallback {
  let session: URLSession
  let url: URL
  private let response: HTTPURLResponse

  init() throws {
    session = URLSession(configuration: .ephemeral)
    url = try #require(URL(string: "http://host.test/"))
    response = try #require(
      HTTPURLResponse(url: url, statusCode: 302, httpVersion: nil, headerFields: nil))
  }

  func call(_ delegate: any URLSessionDelegate) -> [String] {
    let answers = Mutex<[String]>([])
    let challenge = URLAuthenticationChallenge(
      protectionSpace: URLProtectionSpace(
        host: "h", port: 1, protocol: "http", realm: "r",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic),
      proposedCredential: nil, previousFailureCount: 3, failureResponse: nil, error: nil, sender: Sender())
    let data = session.dataTask(with: url)
    let download = session.downloadTask(with: url)
    let webSocket = session.webSocketTask(with: url)
    @Sendable func note(_ answer: String) { answers.withLock { $0.append(answer) } }

    delegate.urlSession(session, didReceive: challenge) { note("session \($0.rawValue) \($1 == nil)") }
    if let delegate = delegate as? any URLSessionTaskDelegate {
      callOfTasks(delegate, data, challenge, note)
    }
    if let delegate = delegate as? any URLSessionDataDelegate {
      delegate.urlSession(session, dataTask: data, didReceive: response) { note("response \($0.rawValue)") }
      delegate.urlSession(session, dataTask: data, didReceive: Data([1, 2, 3]))
      delegate.urlSession(session, dataTask: data, didBecome: download)
      delegate.urlSession(session, dataTask: data, didBecome: URLSessionStreamTask())
      let cached = CachedURLResponse(response: response, data: Data([1]))
      delegate.urlSession(session, dataTask: data, willCacheResponse: cached) {
        note("cache \($0 === cached)")
      }
    }
    if let delegate = delegate as? any URLSessionDownloadDelegate {
      delegate.urlSession(
        session, downloadTask: download, didWriteData: 1, totalBytesWritten: 2, totalBytesExpectedToWrite: 3)
      delegate.urlSession(session, downloadTask: download, didResumeAtOffset: 4, expectedTotalBytes: 5)
      delegate.urlSession(
        session, downloadTask: download, didFinishDownloadingTo: URL(fileURLWithPath: "/f"))
    }
    if let delegate = delegate as? any URLSessionWebSocketDelegate {
      delegate.urlSession(session, webSocketTask: webSocket, didOpenWithProtocol: "chat")
      delegate.urlSession(
        session, webSocketTask: webSocket, didCloseWith: .goingAway, reason: Data([1, 2]))
    }
    if let delegate = delegate as? any URLSessionTaskDelegate {
      delegate.urlSession(session, task: data, didCompleteWithError: URLError(.timedOut))
    }
    delegate.urlSession(session, didBecomeInvalidWithError: nil)
    return answers.withLock { $0 }
  }

  private func callOfTasks(
    _ delegate: any URLSessionTaskDelegate, _ task: URLSessionTask, _ challenge: URLAuthenticationChallenge,
    _ note: @Sendable @escaping (String) -> Void
  ) {
    delegate.urlSession(session, task: task, didReceive: challenge) {
      note("task \($0.rawValue) \($1 == nil)")
    }
    delegate.urlSession(
      session, task: task, willPerformHTTPRedirection: response, newRequest: URLRequest(url: url)
    ) { note("redirect \($0?.url?.absoluteString ?? "")") }
    delegate.urlSession(session, task: task, needNewBodyStream: { note("stream \($0 == nil)") })
    delegate.urlSession(
      session, task: task, didSendBodyData: 1, totalBytesSent: 2, totalBytesExpectedToSend: 3)
    delegate.urlSession(session, task: task, willBeginDelayedRequest: URLRequest(url: url)) {
      note("delayed \($0) \($1 == nil)")
    }
    delegate.urlSession(session, task: task, didFinishCollecting: URLSessionTaskMetrics())
  }

  private final class Sender: NSObject, URLAuthenticationChallengeSender {
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
    func cancel(_ challenge: URLAuthenticationChallenge) {}
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
  }
}
