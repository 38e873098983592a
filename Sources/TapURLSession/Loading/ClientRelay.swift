import Foundation
import Synchronization
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The client of the tapped loader: notes what passes and forwards every call to the original client.
///
/// The sender stays the loader. Foundation reads the finished file and the data from the sender's own
/// properties, and caches only what its own loaders send. An end is noted before it is forwarded: a scrape
/// that the app makes when it learns of an end shows it.
///
/// What a loader reports after its end is dropped: a native loader that is stopped by a cancel after it has finished
/// reports a failure too (`_NativeProtocol.completeTask(withError:)`), and Foundation's client ends the process if the
/// task has left the session's registry by then.
final class ClientRelay: NSObject, URLProtocolClient {
  private enum Phase: Sendable {
    case made, loading
    /// The server asked for credentials: another loader may serve the rest, and the task is watched.
    case challenged
    /// The loader has reported its end.
    case done
  }

  private struct State: Sendable {
    var phase = Phase.made
    var start = Instant.never
    /// When the head of the last response arrived, where a delegate is told.
    var head: Instant?
    var statusCode: Int?
    /// The bytes of the body that came by, or `nil` if none did: a native loader gives a delegate its bytes directly.
    var loadedBytes: Int64?
    /// The loader answers from the session's cache.
    var isFromCache = false
    /// The loader was started again, after a suspension.
    var isRestarted = false
    /// The transfer is among those that the context counts.
    var isCounted = false

    /// From the start to the head of the last response, in nanoseconds.
    var elapsedToHead: Int64? { head.map { max(0, $0.nanoseconds &- start.nanoseconds) } }
  }

  private let original: any URLProtocolClient
  private let context: TapContext
  private let method: String
  private let isSecure: Bool
  /// The request as each tap of the session records it: whatever ends it, the first end counts.
  private let requests: [(record: RequestRecord, tap: URLSessionTap)]
  private let state = Mutex(State())

  init(to original: any URLProtocolClient, request: URLRequest, context: TapContext) {
    let url = request.url?.absoluteString ?? ""
    self.original = original
    self.context = context
    method = request.httpMethod ?? "GET"
    isSecure = url.hasPrefix("https:")
    requests = context.observe(request, url: url)
  }

  /// A request whose task goes away without an end was abandoned.
  deinit {
    leave(at: .now)
    for (record, _) in requests { record.end(.cancelled) }
  }

  /// Whether the loader has reported its end, and Foundation puts no other loader in its place.
  var isDone: Bool { state.withLock { $0.phase == .done } }

  // MARK: The protocol's side

  /// The loader starts, for the first time or again.
  func start(_ loader: URLProtocol) {
    let now = Instant.now
    let isFirst = state.withLock { state in
      state.isRestarted = state.phase != .made
      guard !state.isRestarted else { return false }
      (state.phase, state.start) = (.loading, now)
      return true
    }
    guard isFirst else { return }
    let time = Timestamp.now
    for (record, _) in requests { record.begin(at: now, time: time) }
    guard let account = context.account, account.isNative(loader), let task = loader.task,
      let limit = account.connectionLimit(of: task)
    else { return }
    context.count.enter(limit: limit, at: now)
    state.withLock { $0.isCounted = true }
  }

  /// The app has cancelled the task.
  func cancelled(_ loader: URLProtocol) {
    if !isDone { cutShort(loader, by: URLError(.cancelled)) }
  }

  // MARK: The loader's side

  func urlProtocol(
    _ sender: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
  ) {
    let (now, status) = (Instant.now, (response as? HTTPURLResponse)?.statusCode)
    forward { state in
      // An interim response (RFC 9110, section 15.2) is not the answer.
      if let status, (100..<200).contains(status) { return }
      (state.statusCode, state.head) = (status, now)
    }?.urlProtocol(sender, didReceive: response, cacheStoragePolicy: policy)
  }

  func urlProtocol(_ sender: URLProtocol, didLoad data: Data) {
    let count = Int64(data.count)
    forward { $0.loadedBytes = ($0.loadedBytes ?? 0) + count }?.urlProtocol(sender, didLoad: data)
  }

  func urlProtocol(_ sender: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
    forward { $0.isFromCache = true }?.urlProtocol(sender, cachedResponseIsValid: cachedResponse)
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
    guard !isDone else { return }
    let now = Instant.now
    var account = account(of: sender, .complete, at: now)
    // The response's getter waits for a queue of the task's: it is asked for only where the account does not do.
    let isAsked = account?.isSufficient != true || context.keepsHeaders
    let response = isAsked ? sender.task?.response as? HTTPURLResponse : nil
    if let task = sender.task, response?.asksForCredentials == true {
      // No end: Foundation asks for credentials, and may serve the rest with another loader.
      state.withLock { $0.phase = .challenged }
      original.urlProtocolDidFinishLoading(sender)
      return ChallengedTaskWatch.begin(task, of: self, requests)
    }
    if account?.redirectCount ?? 0 > 0, response?.value(forHTTPHeaderField: "Location") != nil {
      account?.discountRefusedRedirect()
    }
    end(sender, account, response, at: now) { .response(statusCode: $0) }
    state.withLock { $0.phase = .done }
    original.urlProtocolDidFinishLoading(sender)
  }

  func urlProtocol(_ sender: URLProtocol, didFailWithError error: any Error) {
    guard let original = forward({ $0.phase = .done }) else { return }
    cutShort(sender, by: error)
    original.urlProtocol(sender, didFailWithError: error)
  }

  /// The original client, unless the loader has reported its end.
  private func forward(_ note: (inout State) -> Void = { _ in }) -> (any URLProtocolClient)? {
    let isDone = state.withLock { state in
      let isDone = state.phase == .done
      if !isDone { note(&state) }
      return isDone
    }
    return isDone ? nil : original
  }

  // MARK: The end

  private func cutShort(_ loader: URLProtocol, by error: any Error) {
    let now = Instant.now
    let isCancelled = (error as? URLError)?.code == .cancelled
    var account = account(of: loader, isCancelled ? .cancelled : .failed, at: now)
    account?.discountRefusedRedirect()
    // Only of the native loader: the error of an app's own loader may contain secrets.
    let message = isCancelled || account == nil ? nil : (error as? URLError)?.curlMessage
    end(loader, account, nil, message: message, at: now) { RequestEnd(error, statusCode: $0) }
  }

  /// libcurl's account, and what else is known at the end. There is none of what comes from the session's cache.
  private func account(of loader: URLProtocol, _ end: TransferAccount.End, at now: Instant)
    -> TransferAccount?
  {
    let state = state.withLock { $0 }
    guard !state.isFromCache, var account = context.account?.read(loader) else { return nil }
    account.end = end
    account.isSecure = isSecure
    account.isRestarted = state.isRestarted
    guard state.phase != .made else { return account }
    account.elapsed = now.nanoseconds &- state.start.nanoseconds
    account.head = state.elapsedToHead
    account.hasHadRoom =
      state.isCounted && context.seesAllRequests && context.count.hasHadRoom(since: state.start)
    return account
  }

  /// Ends the request, with what is known of the transfer.
  private func end(
    _ loader: URLProtocol, _ account: TransferAccount?, _ response: HTTPURLResponse?, message: String? = nil,
    at now: Instant, _ end: (_ statusCode: Int?) -> RequestEnd
  ) {
    let noted = state.withLock { $0 }
    if var account {
      complete(&account, of: loader, response, at: now)
      let sent = BodySizes.sent(by: loader.task, method: method, account: account)
      let statusCode = account.finalStatusCode ?? response?.statusCode ?? noted.statusCode
      return self.end(end(statusCode), response, message: message, at: now) { observation in
        observation.add(account)
        if account.preTransfer > 0 { observation.requestBodySize = sent }
      }
    }
    if let metrics = (loader as? ForwardingLoader)?.metrics {
      let statusCode = metrics.statusCode ?? response?.statusCode ?? noted.statusCode
      return self.end(end(statusCode), response, at: now) { observation in
        observation.add(metrics)
        observation.elapsedToFirstByte = noted.elapsedToHead
      }
    }
    let isKnown = response != nil || noted.loadedBytes != nil
    let sent = isKnown ? BodySizes.sent(by: loader.task, method: method, account: nil) : nil
    let received =
      isKnown ? BodySizes.received(method: method, response: response, loadedBytes: noted.loadedBytes) : nil
    self.end(end(response?.statusCode ?? noted.statusCode), response, at: now) { observation in
      observation.requestBodySize = sent
      observation.responseBodySize = received
      observation.elapsedToFirstByte = noted.elapsedToHead
      observation.isFromCache = noted.isFromCache
    }
  }

  /// Adds what takes a look at the task and at the kernel.
  private func complete(
    _ account: inout TransferAccount, of loader: URLProtocol, _ response: HTTPURLResponse?, at now: Instant
  ) {
    let task = loader.task
    if account.end != .complete, account.sentBytes != 0, let expected = task?.countOfBytesExpectedToSend {
      account.bodySize = expected > 0 ? expected : nil
    }
    if isSecure, account.elapsed >= TCPInfo.resolution * 1_000 {
      // One of the sides wants the connection closed after the response (RFC 9112, section 9.6).
      let response = response ?? task?.response as? HTTPURLResponse
      account.isClosing = [
        task?.originalRequest?.value(forHTTPHeaderField: "Connection"),
        response?.value(forHTTPHeaderField: "Connection"),
      ].contains { $0?.lowercased().contains("close") == true }
    }
    account.connection = context.sockets.read(account, at: now)
  }

  /// The task that another loader may have served since a challenge is over. All that shows it is the task.
  func ended(_ task: URLSessionTask) {
    if task.state == .canceling { return end(.cancelled, nil, at: .now) { _ in } }
    if let error = task.error { return end(RequestEnd(error, statusCode: nil), nil, at: .now) { _ in } }
    let response = task.response as? HTTPURLResponse
    let sent = BodySizes.sent(by: task, method: method, account: nil)
    let received = BodySizes.received(method: method, response: response, loadedBytes: nil)
    end(.response(statusCode: response?.statusCode), response, at: .now) { observation in
      observation.requestBodySize = sent
      observation.responseBodySize = received
    }
  }

  /// - Parameter add: Adds what is known of the transfer.
  private func end(
    _ end: RequestEnd, _ response: HTTPURLResponse?, message: String? = nil, at now: Instant,
    _ add: (inout RequestObservation) -> Void
  ) {
    leave(at: now)
    let headers = context.keepsHeaders ? response?.headers ?? [:] : [:]
    for (record, tap) in requests {
      record.end(end, at: now) { observation in
        observation.errorMessage = message
        if tap.configuration.collectsHeaders { observation.responseHeaders = headers }
        add(&observation)
      }
    }
  }

  /// Whether the request has begun and not ended.
  var isActive: Bool { requests.contains { $0.record.isActive } }

  /// The transfer needs no connection any more. Leaving again does nothing.
  func leave(at now: Instant) {
    let isCounted = state.withLock { state in
      defer { state.isCounted = false }
      return state.isCounted
    }
    if isCounted { context.count.leave(at: now) }
  }
}
