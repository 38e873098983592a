import Synchronization
import TapCore
import TapEndpoint
import TapFoundation
import TapURLSession

extension Tap {
  /// Pushes the current metrics to a Pushgateway, for a job that is too short to be scraped, at its end. A
  /// push is one request, which no tap observes, and replaces what the group had before.
  ///
  /// - Parameters:
  ///   - gateway: The gateway, and the group whose metrics are replaced.
  ///   - limit: The longest time for the request, at most a day. With 0 or less the push fails.
  /// - Throws: ``TapError`` with the cause: the gateway's answer, or why there is none.
  public func push(to gateway: PushGateway, within limit: Duration = .seconds(10)) async throws(TapError) {
    if configuration.isDisabled { return }
    try await Push(to: gateway).put(registry.exposition(in: .text), within: min(limit, .seconds(86_400)))
  }
}

/// A Pushgateway, and the group under which it keeps the metrics.
public struct PushGateway: Sendable {
  /// The URL of the group, without credentials: `http://gateway:9091/metrics/job/backup`.
  let url: URL
  /// The value of the Authorization field, if the URL that was given has userinfo.
  let authorization: String?
  /// The gateway in errors: `gateway:9091`.
  let authority: String

  /// Names a gateway and a group.
  ///
  /// - Parameters:
  ///   - url: `http://HOST[:PORT][/PATH]` or `https`; userinfo in it is sent as basic authentication.
  ///   - job: the `job` label of everything in the group.
  ///   - grouping: further labels of the group, such as `instance`.
  /// - Throws: ``TapError`` if the URL or the name of a label is invalid. It does not repeat the URL, which
  ///   may have credentials.
  public init(_ url: String, job: String, grouping: [String: String] = [:]) throws(TapError) {
    guard var parts = URLComponents(string: url, encodingInvalidCharacters: false),
      let scheme = parts.scheme?.lowercased(), let port = ["http": 80, "https": 443][scheme],
      let host = parts.host, HostText.parse(host) != nil,
      (1...65_535).contains(parts.port ?? port), parts.query == nil, parts.fragment == nil
    else { throw TapError(.push, "not the URL of a gateway: take http://HOST[:PORT][/PATH], or https") }
    guard !job.isEmpty else { throw TapError(.push, "the job has no name") }
    authority = "\(host):\(parts.port ?? port)"
    authorization = parts.user.map { user in
      "Basic " + Data("\(user):\(parts.password ?? "")".utf8).base64EncodedString()
    }
    (parts.user, parts.password) = (nil, nil)
    // Foundation's loader on Linux knows the scheme in lower case alone.
    parts.scheme = scheme
    var path = parts.percentEncodedPath
    while path.hasSuffix("/") { path.removeLast() }
    path += "/metrics" + Self.segments("job", job)
    for (name, value) in grouping.sorted(by: { $0.key < $1.key }) {
      guard MetricName.isValidLabel(name), name != "job" else {
        throw TapError(.push, "no label to group by: \(name)".withoutUserinfo)
      }
      path += Self.segments(name, value)
    }
    parts.percentEncodedPath = path
    guard let url = parts.url else { throw TapError(.push, "no URL for the group") }
    self.url = url
  }

  /// `/name/value`; a value that a path cannot hold goes in Base64 (Pushgateway, "Encoding of label values").
  private static func segments(_ name: String, _ value: String) -> String {
    if !["", ".", ".."].contains(value), value.utf8.allSatisfy(\.isUnreserved) {
      return "/\(name)/\(value)"
    }
    let encoded = Data(value.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
    return "/\(name)@base64/" + (encoded.isEmpty ? "=" : encoded)
  }
}

/// One request to a gateway, in a session of its own. It ends once: with a response, an error, its deadline
/// or a cancel.
///
/// The limits of a session do not do for that: the one for a whole request has no effect on Linux, and the
/// other restarts with all that the gateway sends. The session has a delegate, since a completion
/// handler's redirects are followed, with the credentials, and its body is kept as a whole.
private final class Push: NSObject, URLSessionDataDelegate {
  private struct State {
    /// The task until it is complete.
    var task: URLSessionTask?
    /// The begin of the response's body.
    var body: [UInt8] = []
  }

  private static let bodyLimit = 1_000

  private let gateway: PushGateway
  private let state = Mutex(State())
  private let outcome = Promise<Result<Void, TapError>>()
  /// The start, the delegate's calls and the cancel, one at a time. They may wait for Foundation's one queue
  /// of all sessions.
  private let calls = OperationQueue()

  init(to gateway: PushGateway) {
    self.gateway = gateway
    calls.maxConcurrentOperationCount = 1
    // On Linux a class with threads of its own, as the endpoint's.
    calls.qualityOfService = .utility
  }

  func put(_ exposition: Exposition, within time: Duration) async throws(TapError) {
    let deadline = Instant.now.advanced(by: time)
    if time > .zero { calls.addOperation { self.start(exposition, time / .seconds(1)) } }
    let result = await withTaskCancellationHandler {
      // Neither Foundation's queue nor the threads of Dispatch and Swift hold up the deadline.
      await BackgroundThread.run { [self] in
        outcome.wait(until: deadline) ?? giveUp("\(gateway.authority) does not answer in time")
      }
    } onCancel: {
      giveUp("cannot push to \(gateway.authority): the task was cancelled")
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
  @discardableResult private func giveUp(_ reason: String) -> Result<Void, TapError> {
    let failure = failure(reason)
    outcome.fulfill(failure)
    calls.addOperation { self.state.withLock { $0.task }?.cancel() }
    return failure
  }

  private func failure(_ reason: String) -> Result<Void, TapError> {
    .failure(TapError(.push, reason.withoutUserinfo))
  }

  /// What a response means; `nil` for an interim one, which Foundation on Linux passes on as well.
  private func result(of response: URLResponse?) -> Result<Void, TapError>? {
    guard let status = (response as? HTTPURLResponse)?.statusCode, status >= 200 else { return nil }
    if status < 300 { return .success(()) }
    let body = state.withLock { $0.body }.split { $0 <= 0x20 || $0 == 0x7F }.joined(separator: [0x20])
    let reason = String(decoding: Array(body), as: UTF8.self)
    return failure(
      "\(gateway.authority) answers \(status): "
        + (reason.isEmpty ? HTTPURLResponse.localizedString(forStatusCode: status) : reason))
  }

  // MARK: The delegate's calls

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isWhole = state.withLock { state in
      state.body.append(contentsOf: data.prefix(Self.bodyLimit - state.body.count))
      return state.body.count < Self.bodyLimit
    }
    guard !isWhole, let result = result(of: dataTask.response) else { return }
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
      result(of: task.response) ?? failure("cannot push to \(gateway.authority): \(reason)"))
  }
}
