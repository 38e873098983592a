import Synchronization
import TapCore
import TapFoundation

/// The client of the tapped loader: notes what passes and forwards every call to the original client.
///
/// The sender stays the loader: Foundation reads the file and the data from it, and caches only what its own loaders send. An end is
/// noted before it is forwarded: a scrape that the app makes when it learns of an end shows it. What a loader reports after its end is
/// dropped: a native one that is cancelled when it has finished reports a failure too (`_NativeProtocol.completeTask(withError:)`), and
/// Foundation's client ends the process if the task has left the session's registry by then.
final class ClientRelay: NSObject, URLProtocolClient {
  private struct State: Sendable {
    var start = Instant.never
    var relay = TransferInfo.Relay()
    /// The transfer is among those that the context counts.
    var isCounted = false
    /// The app has suspended the task: the next start sends the request again.
    var isSuspended = false
    /// The loader has reported its end, and Foundation puts no other in its place.
    var isDone = false

    /// Nanoseconds since the start.
    func elapsed(at now: Instant) -> Int64 { max(0, now.nanoseconds - start.nanoseconds) }
  }

  private let original: any URLProtocolClient
  private let context: TapContext
  private let method: String
  /// The request as each tap of the session records it: whatever ends it, the first end counts.
  private let requests: [TapContext.Observed]
  private let state: Mutex<State>

  /// - Parameter trace: Within which the app resumed the task, if that is known.
  init(
    to original: any URLProtocolClient, request: URLRequest, in trace: TraceContext?, context: TapContext
  ) {
    let url = request.url?.absoluteString ?? ""
    self.original = original
    self.context = context
    method = request.httpMethod ?? "GET"
    requests = context.observe(request, url: url, method: method, in: trace)
    state = Mutex(State(relay: TransferInfo.Relay(isSecure: url.hasPrefix("https:"))))
  }

  /// A request whose task goes away without an end was abandoned.
  deinit {
    if isDone { return }
    leave(at: .now)
    for request in requests { request.record.end(.cancelled) }
  }

  /// Whether the loader has reported its end, and Foundation puts no other in its place.
  var isDone: Bool { state.withLock { $0.isDone } }

  // MARK: The protocol's side

  /// The loader starts, for the first time or again.
  func start(_ loader: URLProtocol) {
    let now = Instant.now
    let isFirst = state.withLock { state in
      defer { state.isSuspended = false }
      guard state.start != .never else {
        state.start = now
        return true
      }
      // To resume a task that runs starts nothing.
      guard state.isSuspended else { return false }
      state.relay.restart = max(1, state.elapsed(at: now))
      (state.relay.statusCode, state.relay.head) = (nil, nil)
      return false
    }
    guard isFirst else { return }
    let time = Timestamp.now
    for request in requests { request.record.begin(at: now, time: time) }
    guard let curl = context.curl, curl.isNative(loader), let task = loader.task else { return }
    if Witness.libcurl.isUnchecked, !curl.holds(for: loader, of: task) {
      if Witness.libcurl.reject() { report(.libcurl) }
      return
    }
    guard let limit = curl.connectionLimit(of: task) else { return }
    context.count.enter(limit: limit, at: now)
    state.withLock { $0.isCounted = true }
  }

  /// The app has suspended the task.
  func suspend(_ loader: URLProtocol) {
    state.withLock { $0.isSuspended = true }
    loader.stopLoading()
  }

  /// The app has cancelled the task. A native loader is stopped first: that takes its socket down (``CurlInfo/socket(of:from:)``).
  func cancel(_ loader: URLProtocol) {
    let isNative = context.curl?.isNative(loader) == true
    if isNative { loader.stopLoading() }
    defer { if !isNative { loader.stopLoading() } }
    // Foundation tells the protocol's client of the cancel, so the loader may go on to report.
    _ = cutShort(loader, by: URLError(.cancelled), isLast: false)
  }

  // MARK: The loader's side

  func urlProtocol(
    _ sender: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
  ) {
    let (now, status) = (Instant.now, (response as? HTTPURLResponse)?.statusCode)
    forward { state in
      // An interim response (RFC 9110, section 15.2) is not the answer.
      if let status, (100..<200).contains(status) { return }
      (state.relay.statusCode, state.relay.head) = (status, state.elapsed(at: now))
    }?.urlProtocol(sender, didReceive: response, cacheStoragePolicy: policy)
  }

  func urlProtocol(_ sender: URLProtocol, didLoad data: Data) {
    let count = Int64(data.count)
    forward { $0.relay.loadedBytes = ($0.relay.loadedBytes ?? 0) + count }?.urlProtocol(sender, didLoad: data)
  }

  func urlProtocol(_ sender: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
    forward { $0.relay.isFromCache = true }?.urlProtocol(sender, cachedResponseIsValid: cachedResponse)
  }

  func urlProtocol(
    _ sender: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse
  ) {
    forward()?.urlProtocol(sender, wasRedirectedTo: request, redirectResponse: redirectResponse)
  }

  func urlProtocol(_ sender: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
    forward()?.urlProtocol(sender, didReceive: challenge)
  }

  func urlProtocol(_ sender: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
    forward()?.urlProtocol(sender, didCancel: challenge)
  }

  func urlProtocolDidFinishLoading(_ sender: URLProtocol) {
    let now = Instant.now
    var transfer = TransferInfo()
    guard read(&transfer, of: sender, at: now, isLast: true) else { return }
    let task = sender.task
    // The response's getter waits for a queue of the task's: it is asked for only where libcurl's info does
    // not do, or is to be compared.
    let isAsked = !transfer.isSufficient || context.keepsHeaders || Witness.libcurl.isDue
    let response = isAsked ? task?.response as? HTTPURLResponse : nil
    if transfer.isNative { compare(&transfer, with: response) }
    if let task, response?.statusCode == 401, response?.value(forHTTPHeaderField: "WWW-Authenticate") != nil {
      // No end (RFC 9110, section 11.6.1): Foundation looks for credentials, and may serve the rest with another loader.
      state.withLock { $0.isDone = false }
      original.urlProtocolDidFinishLoading(sender)
      return ChallengedTaskWatch.begin(task, of: self, requests)
    }
    if transfer.redirectCount > 0, response?.value(forHTTPHeaderField: "Location") != nil {
      transfer.discountRefusedRedirect()
    }
    end(&transfer, of: task, response, nil, at: now)
    original.urlProtocolDidFinishLoading(sender)
  }

  func urlProtocol(_ sender: URLProtocol, didFailWithError error: any Error) {
    guard cutShort(sender, by: error, isLast: true) else { return }
    original.urlProtocol(sender, didFailWithError: error)
  }

  /// The original client, unless the loader has reported its end.
  private func forward(_ note: (inout State) -> Void = { _ in }) -> (any URLProtocolClient)? {
    let isDone = state.withLock { state in
      if !state.isDone { note(&state) }
      return state.isDone
    }
    return isDone ? nil : original
  }

  // MARK: The end

  /// - Returns: Whether the loader had not reported its end before.
  private func cutShort(_ loader: URLProtocol, by error: any Error, isLast: Bool) -> Bool {
    let now = Instant.now
    var transfer = TransferInfo()
    transfer.end = (error as? URLError)?.code == .cancelled ? .cancelled : .failed
    guard read(&transfer, of: loader, at: now, isLast: isLast) else { return false }
    transfer.discountRefusedRedirect()
    end(&transfer, of: loader.task, nil, error, at: now)
    return true
  }

  /// The task that another loader may have served since a challenge is over. All that shows it is the task.
  func ended(_ task: URLSessionTask) {
    let error = task.state == .canceling ? URLError(.cancelled) : task.error
    let response = error == nil ? task.response as? HTTPURLResponse : nil
    var transfer = TransferInfo()
    end(&transfer, of: task, response, error, at: .now)
  }

  /// Notes what the tap has seen, and libcurl's info, of which there is none for what comes from the session's cache. In place: to copy a
  /// transfer costs as much as to read it. Returns whether the loader had not reported its end before; `isLast` says that it does now.
  private func read(
    _ transfer: inout TransferInfo, of loader: URLProtocol, at now: Instant, isLast: Bool
  ) -> Bool {
    let (isFirst, hasStarted) = state.withLock { state in
      if state.isDone { return (false, false) }
      state.isDone = isLast
      (transfer.relay, transfer.elapsed) = (state.relay, state.elapsed(at: now))
      return (true, state.start != .never)
    }
    if hasStarted, !transfer.relay.isFromCache { context.curl?.read(loader, into: &transfer) }
    return isFirst
  }

  /// Discards what libcurl says of a transfer if others say something else of it.
  private func compare(_ transfer: inout TransferInfo, with response: HTTPURLResponse?) {
    if transfer.agrees(with: response) { return Witness.libcurl.noteAgreement() }
    if Witness.libcurl.noteContradiction() { report(.libcurl) }
    var other = TransferInfo()
    (other.relay, other.elapsed) = (transfer.relay, transfer.elapsed)
    transfer = other
  }

  /// A witness is not believed any more in this process.
  private func report(_ witness: Witness) {
    for request in requests { request.tap.configuration.reportDisbelief?(witness) }
  }

  /// Ends the request, with what is known of the transfer. Without an error the whole response has arrived.
  private func end(
    _ transfer: inout TransferInfo, of task: URLSessionTask?, _ response: HTTPURLResponse?,
    _ error: (any Error)?, at now: Instant
  ) {
    transfer.hadFreeConnection = leave(at: now) && context.seesAllRequests
    if transfer.isNative { complete(&transfer, task, response, at: now) }
    let statusCode =
      transfer.finalStatusCode ?? response?.statusCode ?? transfer.relay.statusCode
    let end: RequestEnd =
      switch error {
      case nil: .response(statusCode: statusCode)
      case let error as URLError where error.code == .cancelled: .cancelled
      case let error?: .failure(RequestErrorType(error), statusCode: statusCode)
      }
    // Only of the native loader: the error of an app's own loader may contain secrets.
    let failure = transfer.isNative && end != .cancelled ? error as? URLError : nil
    let hasHead = transfer.finalStatusCode != nil
    let message =
      failure?.curlMessage ?? failure?.timeoutMessage(context.curl?.timeout(of: task), hasHead: hasHead)
    let hasResponse = transfer.isNative || response != nil || transfer.relay.loadedBytes != nil
    let sent = hasResponse ? transfer.requestBodySize(of: task, method: method) : nil
    let received = transfer.responseBodySize(method: method, response)
    let headers = context.keepsHeaders ? response?.allHeaderFields as? [String: String] ?? [:] : [:]
    for request in requests {
      request.record.end(end, at: now) { observation in
        observation.errorMessage = message
        (observation.requestBodySize, observation.responseBodySize) = (sent, received)
        observation.isFromCache = transfer.relay.isFromCache
        observation.elapsedToFirstByte = transfer.firstByte ?? transfer.relay.head
        if request.tap.configuration.collectsHeaders { observation.responseHeaders = headers }
        guard transfer.isNative else { return }
        observation.protocolVersion = transfer.protocolVersion
        observation.peerAddress = transfer.peer?.address
        observation.openedConnections = transfer.connectionCount
        observation.isConnectionReused = transfer.isConnectionReused
        observation.resendCount = transfer.redirectCount
        if transfer.resend > 0 { observation.elapsedToResend = transfer.resend }
        observation.roundTrip = transfer.connection?.info.roundTrip
        observation.retransmittedSegments = transfer.connection?.retransmittedSegments
        observation.timings = transfer.timings
        if transfer.end != .complete, !transfer.isHeldByApp { observation.cutOffPhase = transfer.last }
      }
    }
  }

  /// Adds what takes a look at the task and at the kernel, and the phases, which follow.
  private func complete(
    _ transfer: inout TransferInfo, _ task: URLSessionTask?, _ response: HTTPURLResponse?, at now: Instant
  ) {
    if transfer.end != .complete, transfer.sentBytes != 0, let expected = task?.countOfBytesExpectedToSend {
      transfer.bodySize = expected > 0 ? expected : nil
    }
    if transfer.relay.isSecure, transfer.elapsed >= TCPInfo.resolution {
      // One of the sides wants the connection closed after the response (RFC 9112, section 9.6).
      let (name, response) = ("Connection", response ?? task?.response as? HTTPURLResponse)
      let values = [
        task?.originalRequest?.value(forHTTPHeaderField: name), response?.value(forHTTPHeaderField: name),
      ]
      transfer.isClosing = values.contains { $0?.lowercased().contains("close") == true }
    }
    switch context.connections.read(transfer, at: now, socket: { context.curl?.socket(of: task, from: $0) }) {
    case .read(let reading): transfer.connection = reading
    case .none: break
    case .contradiction(true):
      report(.kernel)
      fallthrough
    case .unknown, .contradiction:
      for request in requests { request.tap.configuration.unknownConnections?.increment() }
    }
    transfer.findPhases()
  }

  /// Whether the request has begun and not ended.
  var isActive: Bool { requests.contains { $0.record.isActive } }

  /// The transfer needs no connection any more. Returns whether no others could make it wait (``TransferCount``).
  @discardableResult
  func leave(at now: Instant) -> Bool {
    let (isCounted, start) = state.withLock { (exchange(&$0.isCounted, with: false), $0.start) }
    return isCounted && context.count.leave(at: now, since: start)
  }
}
