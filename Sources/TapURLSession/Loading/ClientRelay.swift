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
  private let original: any URLProtocolClient
  private let context: TapContext
  private let transfer: Transfer
  /// The request as each tap of the session records it, and when that tap reports one that waits.
  private let requests: [(request: RequestRecord, waitingLimit: Duration?)]

  init(to original: any URLProtocolClient, request: URLRequest, context: TapContext) {
    self.original = original
    self.context = context
    transfer = context.transfer(of: request)
    requests = context.observe(request, transfer)
  }

  /// A request whose task goes away without an end was abandoned: the last defence of "ends once". One whose server asked for
  /// credentials is watched until its task ends.
  deinit {
    guard !transfer.isWatched else { return }
    for (request, _) in requests { request.end(.cancelled) }
  }

  /// Whether the loader has reported its end, and Foundation puts no other loader in its place.
  var isDone: Bool { transfer.hasEnded }

  // MARK: The protocol's side

  /// The loader starts, for the first time or again.
  func start(_ loader: URLProtocol) {
    let now = Instant.now
    guard transfer.start(at: now) else { return }
    let time = Timestamp.now
    for (request, _) in requests { request.begin(at: now, time: time) }
    guard let account = context.account, account.isNative(loader), let task = loader.task,
      let limit = account.connectionLimit(of: task)
    else { return }
    transfer.enter(context.count, limit: limit, at: now)
  }

  /// The app has cancelled the task.
  func cancelled(_ loader: URLProtocol) {
    guard !isDone else { return }
    end(.cancelled, of: loader)
  }

  /// The loader is about to be released. Where the server asked for credentials, another one may go on.
  func release() {
    if !transfer.isWatched { transfer.leave(at: .now) }
  }

  // MARK: The loader's side

  func urlProtocol(
    _ sender: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
  ) {
    guard transfer.received(response, at: .now) else { return }
    original.urlProtocol(sender, didReceive: response, cacheStoragePolicy: policy)
  }

  func urlProtocol(_ sender: URLProtocol, didLoad data: Data) {
    guard transfer.loaded(data.count) else { return }
    original.urlProtocol(sender, didLoad: data)
  }

  func urlProtocol(_ sender: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
    guard transfer.answeredFromCache() else { return }
    original.urlProtocol(sender, cachedResponseIsValid: cachedResponse)
  }

  func urlProtocolDidFinishLoading(_ sender: URLProtocol) {
    guard !isDone else { return }
    let now = Instant.now
    let task = sender.task
    var account = account(of: sender)
    // The response's getter waits for a queue of the task's: it is asked for only where the account does not do.
    let isAsked = account?.isSufficient != true || transfer.keepsHeaders
    let response = isAsked ? task?.response as? HTTPURLResponse : nil
    let isHeldByApp =
      account?.redirectCount ?? 0 > 0 && response?.value(forHTTPHeaderField: "Location") != nil
      && account?.discountRefusedRedirect() == true
    if let task, response?.asksForCredentials == true {
      // No end: Foundation asks for credentials, and may serve the rest with another loader.
      transfer.watched()
      original.urlProtocolDidFinishLoading(sender)
      for (request, limit) in requests {
        ChallengedTaskWatch.begin(task: task, transfer: transfer, request: request, reportsAfter: limit)
      }
      return
    }
    let facts = transfer.facts(at: now, .complete, isHeldByApp: isHeldByApp)
    let statusCode = settle(account, facts, response: response, of: sender, at: now)
    _ = transfer.end()
    for (request, _) in requests { request.end(.response(statusCode: statusCode), at: now) }
    original.urlProtocolDidFinishLoading(sender)
  }

  func urlProtocol(_ sender: URLProtocol, didFailWithError error: any Error) {
    guard transfer.end() else { return }
    end(RequestEnd(error, statusCode: nil), error, of: sender)
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

  // MARK: The end

  /// Ends a transfer that was cut short.
  private func end(_ end: RequestEnd, _ error: (any Error)? = nil, of loader: URLProtocol) {
    let now = Instant.now
    var account = account(of: loader)
    let isHeldByApp = account?.discountRefusedRedirect() == true
    let facts = transfer.facts(
      at: now, end == .cancelled ? .cancelled : .failed, isHeldByApp: isHeldByApp)
    let statusCode = settle(account, facts, response: nil, of: loader, at: now)
    var end = end
    var message: String?
    if case .failure(let type, _) = end {
      end = .failure(type, statusCode: statusCode)
      // Only of the native loader: the error of an app's own loader may contain secrets.
      message = account == nil ? nil : (error as? URLError)?.curlMessage
    }
    for (request, _) in requests { request.end(end, at: now, errorMessage: message) }
  }

  /// libcurl's account. There is none of what comes from the session's cache.
  private func account(of loader: URLProtocol) -> TransferAccount? {
    transfer.isFromCache ? nil : context.account?.read(loader)
  }

  /// Keeps what is known at the end, and gives the status code.
  private func settle(
    _ account: TransferAccount?, _ facts: TransferFacts, response: HTTPURLResponse?, of loader: URLProtocol,
    at now: Instant
  ) -> Int? {
    transfer.leave(at: now)
    let headers = transfer.keepsHeaders ? response?.headers ?? [:] : [:]
    let task = loader.task
    if let account {
      var facts = facts
      if !context.seesAllRequests { facts.hasHadRoom = false }
      if facts.end != .complete, account.sentBytes != 0, let expected = task?.countOfBytesExpectedToSend {
        facts.bodySize = expected > 0 ? expected : nil
      }
      if transfer.isSecure, facts.elapsed >= TCPInfo.resolution * 1_000 {
        let response = response ?? task?.response as? HTTPURLResponse
        facts.isClosing = transfer.closesConnection(after: response)
      }
      facts.connection = context.sockets.read(account, elapsed: facts.elapsed, at: now)
      transfer.settle(
        .account(
          account,
          TransferResult.End(
            facts: facts,
            requestBodySize: BodySizes.sent(by: task, method: transfer.method, account: account),
            headers: headers)))
      return account.finalStatusCode ?? response?.statusCode ?? transfer.statusCode
    }
    if var measured = (loader as? ForwardingLoader)?.report {
      measured.responseHeaders = headers
      transfer.settle(.report(measured))
      return measured.statusCode ?? response?.statusCode ?? transfer.statusCode
    }
    let loadedBytes = transfer.loadedBytes
    let isKnown = response != nil || loadedBytes != nil
    transfer.settle(
      .headers(
        requestBodySize: isKnown ? BodySizes.sent(by: task, method: transfer.method, account: nil) : nil,
        responseBodySize: isKnown
          ? BodySizes.received(method: transfer.method, response: response, loadedBytes: loadedBytes) : nil,
        headers))
    return response?.statusCode ?? transfer.statusCode
  }
}
