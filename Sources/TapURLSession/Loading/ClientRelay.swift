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
  private struct State {
    var facts = TransferFacts()
    var place: ConnectionQueue.Place?
    var hasEnded = false
  }

  private let original: any URLProtocolClient
  private let context: TapContext
  private let outline: RequestOutline
  /// The request as each tap of the session sees it.
  private let requests: [TappedRequest]
  private let state = Mutex(State())

  init(to original: any URLProtocolClient, request: URLRequest, context: TapContext) {
    self.original = original
    self.context = context
    outline = context.outline(of: request)
    requests = context.observe(request, outline: outline)
  }

  /// Whether the loader has reported its end, and Foundation puts no other loader in its place.
  var isDone: Bool { state.withLock { $0.hasEnded } }

  // MARK: The protocol's side

  /// The loader starts, for the first time or again.
  func start(_ loader: URLProtocol) {
    let start = RequestStart()
    let isFirst = state.withLock { state in
      defer { state.facts.start = state.facts.start ?? start.instant }
      return state.facts.start == nil
    }
    guard isFirst else { return }
    for request in requests { request.start(start) }
    guard let account = context.account, account.isNative(loader), let task = loader.task,
      context.seesAllRequests,
      let host = outline.host, let session = account.session(of: task)
    else { return }
    let place = ConnectionQueue.enter(
      loader, session: session, host: host, limit: session.configuration.httpMaximumConnectionsPerHost,
      at: start.instant)
    state.withLock { $0.place = place }
  }

  /// The app has cancelled the task.
  func cancelled(_ loader: URLProtocol) {
    guard !isDone else { return }
    end(.cancelled, of: loader)
  }

  /// The transfer gives its connection up: the app has suspended the task, or the loader is about to be released.
  func leave() { leaveQueue(at: .now, strays: true) }

  // MARK: The loader's side

  func urlProtocol(
    _ sender: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
  ) {
    let now = Instant.now
    guard note({ $0.take(response, at: now) }) else { return }
    original.urlProtocol(sender, didReceive: response, cacheStoragePolicy: policy)
  }

  func urlProtocol(_ sender: URLProtocol, didLoad data: Data) {
    guard note({ $0.load(data.count) }) else { return }
    original.urlProtocol(sender, didLoad: data)
  }

  func urlProtocol(_ sender: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
    guard note({ $0.isFromCache = true }) else { return }
    original.urlProtocol(sender, cachedResponseIsValid: cachedResponse)
  }

  func urlProtocolDidFinishLoading(_ sender: URLProtocol) {
    guard !isDone else { return }
    let now = Instant.now
    let task = sender.task
    var account = account(of: sender)
    // The response's getter waits for a queue of the task's: it is asked for only where the account does not do.
    let isAsked = account?.isSufficient != true || outline.keepsHeaders
    let response = isAsked ? task?.response as? HTTPURLResponse : nil
    if account?.redirectCount ?? 0 > 0, response?.value(forHTTPHeaderField: "Location") != nil {
      account?.discountRefusedRedirect()
    }
    if let task, response?.asksForCredentials == true {
      // No end: Foundation asks for credentials, and may serve the rest with another loader.
      leaveQueue(at: now, strays: true)
      original.urlProtocolDidFinishLoading(sender)
      for request in requests { ChallengedTaskWatch.begin(task: task, request: request) }
      return
    }
    let report = report(account, isComplete: true, response: response, of: sender, at: now)
    state.withLock { $0.hasEnded = true }
    for request in requests { request.end(.response(statusCode: report.statusCode), report: report, at: now) }
    original.urlProtocolDidFinishLoading(sender)
  }

  func urlProtocol(_ sender: URLProtocol, didFailWithError error: any Error) {
    let isFirst = state.withLock { state in
      defer { state.hasEnded = true }
      return !state.hasEnded
    }
    guard isFirst else { return }
    end(RequestEnd(error, statusCode: nil), of: sender)
    original.urlProtocol(sender, didFailWithError: error)
  }

  func urlProtocol(
    _ sender: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse
  ) {
    guard !isDone else { return }
    original.urlProtocol(sender, wasRedirectedTo: request, redirectResponse: redirectResponse)
  }

  func urlProtocol(_ sender: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
    guard !isDone else { return }
    original.urlProtocol(sender, didReceive: challenge)
  }

  func urlProtocol(_ sender: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
    guard !isDone else { return }
    original.urlProtocol(sender, didCancel: challenge)
  }

  // MARK: What is known

  /// Notes a fact, unless the loader has reported its end.
  private func note(_ fact: (inout TransferFacts) -> Void) -> Bool {
    state.withLock { state in
      if !state.hasEnded { fact(&state.facts) }
      return !state.hasEnded
    }
  }

  /// A transfer that was cut short.
  private func end(_ end: RequestEnd, of loader: URLProtocol) {
    let now = Instant.now
    var account = account(of: loader)
    account?.discountRefusedRedirect()
    let report = report(account, isComplete: false, response: nil, of: loader, at: now)
    var end = end
    if case .failure(let type, _) = end { end = .failure(type, statusCode: report.statusCode) }
    for request in requests { request.end(end, report: report, at: now) }
  }

  /// libcurl's account. There is none of what comes from the session's cache.
  private func account(of loader: URLProtocol) -> TransferAccount? {
    state.withLock { $0.facts.isFromCache } ? nil : context.account?.read(loader)
  }

  private func report(
    _ account: TransferAccount?, isComplete: Bool, response: HTTPURLResponse?, of loader: URLProtocol,
    at now: Instant
  ) -> TransferReport {
    let wait = leaveQueue(at: now, strays: account?.redirectCount != 0)
    let facts = state.withLock { $0.facts }
    let task = loader.task
    var report: TransferReport
    if let account {
      report = TransferReport(
        account, isComplete: isComplete, facts: facts, wait: wait, isSecure: outline.isSecure, task: task,
        method: outline.method, at: now)
    } else if let measured = (loader as? ForwardingLoader)?.report {
      report = measured
      report.firstByte = facts.head
    } else {
      report = TransferReport()
      report.firstByte = facts.head
      report.isFromCache = facts.isFromCache
      if response != nil || facts.loadedBytes != nil {
        report.requestBodySize = BodySizes.sent(by: task, method: outline.method, account: nil)
        report.responseBodySize = BodySizes.received(
          method: outline.method, response: response, loadedBytes: facts.loadedBytes)
      }
    }
    report.statusCode = report.statusCode ?? response?.statusCode ?? facts.statusCode
    if outline.keepsHeaders { report.responseHeaders = response?.headers ?? [:] }
    return report
  }

  @discardableResult
  private func leaveQueue(at now: Instant, strays: Bool) -> ConnectionQueue.Wait {
    let place = state.withLock { state in
      defer { state.place = nil }
      return state.place
    }
    guard let place else { return .unknown }
    return ConnectionQueue.leave(place, at: now, strays: strays, account: context.account)
  }
}
