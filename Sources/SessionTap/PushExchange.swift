import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request to a gateway, in a session of its own. It ends once: with a response, an error, or its deadline.
///
/// The limits of a session do not do for that: the one for a whole request has no effect on Linux, and the other begins
/// anew with all that the gateway sends. The session has a delegate, since a completion handler's redirects are followed, with
/// the credentials, and its body is kept as a whole.
final class PushExchange: NSObject, URLSessionDataDelegate {
  enum Answer: Sendable {
    /// The status, and the begin of the body, or what the status means.
    case status(Int, String)
    case failure(String)
    case late
  }

  private struct State {
    /// It has ended, be it before there was a task.
    var isOver = false
    /// The task until it is complete.
    var task: URLSessionTask?
    var reason: [UInt8] = []
    var bodySize = 0
  }

  /// The bytes of a body that are read, and those that are kept.
  private static let bodyLimit = 65_536
  private static let reasonLimit = 200

  private let state = Mutex(State())
  /// The first answer counts.
  private let (answers, sink) = AsyncStream.makeStream(of: Answer.self)
  /// The delegate's calls, one at a time.
  private let calls = OperationQueue()

  /// - Parameter time: at most a day.
  func send(_ request: URLRequest, body: Data, within time: Duration) async -> Answer {
    guard time > .zero else { return .late }
    let time = min(time, .seconds(86_400))
    // Foundation has one queue for all sessions, which calls of sessions wait for. The deadline does not, nor for Swift's threads,
    // which may all wait for that queue.
    let queue = DispatchQueue.global(qos: .utility)
    let deadline = DispatchWorkItem { self.giveUp(with: .late) }
    defer { deadline.cancel() }
    queue.asyncAfter(deadline: .now() + time / .seconds(1), execute: deadline)
    queue.async { self.start(request, body, time) }
    // Cancelling the task that reads a stream would end the stream before its answer: a task of its own reads it.
    let first = Task { [answers] in await answers.first { _ in true } ?? .late }
    return await withTaskCancellationHandler {
      await first.value
    } onCancel: {
      giveUp(with: .failure("the task was cancelled"))
    }
  }

  private func start(_ request: URLRequest, _ body: Data, _ time: Duration) {
    let configuration = URLSessionConfiguration.ephemeral
    (configuration.urlCache, configuration.urlCredentialStorage, configuration.httpCookieStorage) = (
      nil, nil, nil
    )
    configuration.timeoutIntervalForResource = time / .seconds(1)
    // Foundation on Linux cuts it to whole seconds.
    configuration.timeoutIntervalForRequest = time / .seconds(1) + 1
    calls.maxConcurrentOperationCount = 1
    let session = URLSession(configuration: configuration, delegate: self, delegateQueue: calls)
    let task = session.uploadTask(with: request, from: body)
    state.withLock { $0.task = task }
    task.resume()
    session.finishTasksAndInvalidate()
    if state.withLock({ $0.isOver }) { cancel() }
  }

  private func giveUp(with answer: Answer) {
    end(with: answer)
    cancel()
  }

  private func end(with answer: Answer) {
    state.withLock { $0.isOver = true }
    sink.yield(answer)
  }

  /// Cancels what goes on after the end. Foundation on Linux ends the process where a cancel meets the end of a request
  /// (swift-corelibs-foundation #3296); it does not where the cancel is one of the delegate's calls, before the last.
  private func cancel() {
    calls.addOperation { self.state.withLock { $0.task }?.cancel() }
  }

  private func answer(_ response: URLResponse?) -> Answer? {
    // Foundation on Linux passes interim responses on as well.
    guard let status = (response as? HTTPURLResponse)?.statusCode, status >= 200 else { return nil }
    let line = state.withLock { $0.reason }.drop { $0 <= 0x20 }.prefix { $0 != 0x0A && $0 != 0x0D }
    let reason = String(decoding: line.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }, as: UTF8.self)
    return .status(status, reason.isEmpty ? HTTPURLResponse.localizedString(forStatusCode: status) : reason)
  }

  // MARK: The delegate's calls

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isTooMuch = state.withLock { state in
      state.reason.append(contentsOf: data.prefix(Self.reasonLimit - state.reason.count))
      state.bodySize += data.count
      return state.bodySize > Self.bodyLimit
    }
    guard isTooMuch, let answer = answer(dataTask.response) else { return }
    end(with: answer)
    dataTask.cancel()
  }

  /// The credentials are for this gateway, and were sent with the request. A session on Linux would wait for others for ever.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    if let answer = answer(challenge.failureResponse) { end(with: answer) }
    completionHandler(.performDefaultHandling, nil)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    state.withLock { $0.task = nil }
    end(with: answer(task.response) ?? .failure(error?.localizedDescription ?? "no response"))
  }
}
