import Synchronization
import TapCore
import TapFoundation
import TapURLSession

/// Why a gateway has not taken the metrics, and whether it may take them later.
struct PushFailure: Error {
  let reason: String
  let isTransient: Bool

  init(_ reason: String, isTransient: Bool) {
    (self.reason, self.isTransient) = (reason.withoutUserinfo, isTransient)
  }
}

/// One request to a gateway, in a session of its own. It ends once: with a response, an error, its deadline
/// or a cancel.
///
/// The limits of a session do not do for that: the one for a whole request has no effect on Linux, and the
/// other restarts with all that the gateway sends. The session has a delegate, since a completion
/// handler's redirects are followed, with the credentials, and its body is kept as a whole.
final class PushExchange: NSObject, URLSessionDataDelegate {
  private struct State {
    /// The task until it is complete.
    var task: URLSessionTask?
    var reason: [UInt8] = []
    var bodySize = 0
  }

  /// The bytes of a body that are read, and those that are kept.
  private static let bodyLimit = 65_536
  private static let reasonLimit = 1_000

  private let gateway: PushGateway
  private let state = Mutex(State())
  private let outcome = Promise<Result<Void, PushFailure>>()
  /// The start, the delegate's calls and the cancel, one at a time. They may wait for Foundation's one queue
  /// of all sessions.
  private let calls = OperationQueue()

  init(with gateway: PushGateway) {
    self.gateway = gateway
    calls.maxConcurrentOperationCount = 1
    // On Linux a class with threads of its own, as the endpoint's.
    calls.qualityOfService = .utility
  }

  /// Replaces the group's metrics, unless the task is cancelled. The time counts up to a day.
  func put(_ exposition: Exposition, within time: Duration) async throws(PushFailure) {
    let late = unreachable("\(gateway.authority) does not answer in time")
    let time = min(time, .seconds(86_400))
    guard time > .zero else { throw late }
    let deadline = Instant.now.advanced(by: time)
    calls.addOperation { self.start(exposition, time / .seconds(1)) }
    let result = await withTaskCancellationHandler {
      // Neither Foundation's queue nor the threads of Dispatch and Swift hold up the deadline.
      await BackgroundThread.run { [self] in
        if let result = outcome.wait(until: deadline) { return result }
        giveUp(late)
        return .failure(late)
      }
    } onCancel: {
      giveUp(unreachable("cannot push to \(gateway.authority): the task was cancelled"))
    }
    try result.get()
  }

  private func start(_ exposition: Exposition, _ seconds: Double) {
    var request = URLRequest(url: gateway.url)
    request.httpMethod = "PUT"
    request.setValue(exposition.contentType, forHTTPHeaderField: "Content-Type")
    request.setValue(gateway.authorization, forHTTPHeaderField: "Authorization")
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    configuration.httpCookieStorage = nil
    configuration.timeoutIntervalForResource = seconds
    // Foundation on Linux cuts it to whole seconds.
    configuration.timeoutIntervalForRequest = seconds + 1
    let session = URLSessionTap.$isMakingOwnSession.withValue(true) {
      URLSession(configuration: configuration, delegate: self, delegateQueue: calls)
    }
    let task = session.uploadTask(with: request, from: Data(exposition.body))
    state.withLock { $0.task = task }
    task.resume()
    session.finishTasksAndInvalidate()
  }

  /// Cancels what goes on after the end. Foundation on Linux ends the process where a cancel meets the end of
  /// a request (swift-corelibs-foundation #3296); it does not where the cancel is one of the delegate's
  /// calls, before the last.
  private func giveUp(_ error: PushFailure) {
    outcome.fulfill(.failure(error))
    calls.addOperation { self.state.withLock { $0.task }?.cancel() }
  }

  private func unreachable(_ reason: String) -> PushFailure { PushFailure(reason, isTransient: true) }

  /// What a response means; `nil` for an interim one, which Foundation on Linux passes on as well.
  private func result(of response: URLResponse?) -> Result<Void, PushFailure>? {
    guard let status = (response as? HTTPURLResponse)?.statusCode, status >= 200 else { return nil }
    if status < 300 { return .success(()) }
    let text = Self.reason(in: state.withLock { $0.reason })
    let reason = text.isEmpty ? HTTPURLResponse.localizedString(forStatusCode: status) : text
    // RFC 9110, sections 15.5.9, 15.6 and RFC 6585, section 4: these may be transient.
    return .failure(
      PushFailure(
        "\(gateway.authority) answers \(status): \(reason)",
        isTransient: status >= 500 || status == 408 || status == 429))
  }

  /// The first line of a body, and the next one where it ends in a colon. A Pushgateway answers `pushed
  /// metrics are invalid …: 2 error(s) occurred:`, and each cause is on a line of its own.
  private static func reason(in body: [UInt8]) -> String {
    let lines = body.split { $0 == 0x0A || $0 == 0x0D }.map { line in
      String(decoding: line.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }, as: UTF8.self)
        .trimmingCharacters(in: .whitespaces)
    }.filter { !$0.isEmpty }
    guard let first = lines.first else { return "" }
    return first.hasSuffix(":") ? lines.prefix(2).joined(separator: " ") : first
  }

  // MARK: The delegate's calls

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isTooMuch = state.withLock { state in
      state.reason.append(contentsOf: data.prefix(Self.reasonLimit - state.reason.count))
      state.bodySize += data.count
      return state.bodySize > Self.bodyLimit
    }
    guard isTooMuch, let result = result(of: dataTask.response) else { return }
    outcome.fulfill(result)
    dataTask.cancel()
  }

  /// The credentials are for this gateway, and were sent with the request. A session on Linux would wait for
  /// others for ever.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    if let result = result(of: challenge.failureResponse) { outcome.fulfill(result) }
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
    let reason = error?.localizedDescription ?? "no response"
    outcome.fulfill(
      result(of: task.response) ?? .failure(unreachable("cannot push to \(gateway.authority): \(reason)")))
  }
}
