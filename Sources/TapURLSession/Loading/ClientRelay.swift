import Synchronization
import TapCore
import TapFoundation

/// The client of the tapped loader: notes what passes and forwards every call to the original client.
///
/// The sender stays the loader: Foundation reads the file and the data from it, and caches only what its own
/// loaders send. An end is noted before it is forwarded, so that a scrape that the app makes when it learns
/// of the end shows it. Reports after the loader's end are dropped: a native loader that is cancelled when it
/// has finished reports a failure too (`_NativeProtocol.completeTask(withError:)`), and Foundation's client
/// ends the process if the task has left the session's registry by then.
final class ClientRelay: NSObject, URLProtocolClient {
  let original: any URLProtocolClient
  let context: TapContext
  /// The request as each tap of the session records it. The first end counts.
  let requests: TapContext.Requests
  let progress: TransferProgress

  /// - Parameter trace: The trace in which the app resumed the task, if it is known.
  init(
    to original: any URLProtocolClient, _ request: URLRequest, in trace: TraceContext?, context: TapContext
  ) {
    (self.original, self.context) = (original, context)
    progress = TransferProgress(to: request.urlText, method: request.method, curl: context.curl)
    requests = context.observe(request, to: progress.url, in: trace, progress: progress)
  }

  /// A request whose task goes away without an end was abandoned.
  deinit {
    if isDone { return }
    leave(at: .now)
    let statusCode = progress.progress.statusCode
    requests.forEach { $0.record.end(.cancelled) { $0.headStatusCode = statusCode } }
  }

  /// Whether the loader has reported its end, and Foundation puts no other loader in its place.
  var isDone: Bool { progress.state.withLock { $0.phase == .done } }

  // MARK: The protocol's side

  /// The loader starts, for the first time or again.
  func start(_ loader: URLProtocol) {
    let now = Instant.now
    guard progress.state.withLock({ $0.begin(at: now) }) else { return }
    let time = Timestamp.now
    requests.forEach { $0.record.begin(at: now, time: time) }
    guard let curl = context.curl, curl.isNative(loader), let task = loader.task else { return }
    if Witness.libcurl.isUnchecked, !curl.foundation.holds(for: loader, of: task) {
      if Witness.libcurl.reject() {
        report("Foundation's objects are not as expected: libcurl's info is not used in this process")
      }
      return
    }
    let limit = curl.foundation.connectionLimit(of: task)
    if let limit { context.count.enter(limit: limit, at: now) }
    progress.follow(loader, on: curl.foundation.queue(of: task), countedSince: limit == nil ? nil : now)
  }

  /// The task's protocol goes away. After an answered challenge Foundation has another one serve the task.
  func leaveTask() { progress.leave() }

  /// The app has suspended the task.
  func suspend(_ loader: URLProtocol) {
    progress.state.withLock { $0.suspend() }
    loader.stopLoading()
  }

  /// The app has cancelled the task. A native loader is stopped first: that takes its socket down
  /// (``CurlInfo/socket(of:from:)``).
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
    forward(at: now) { $0.receive(status: status, at: now) }?
      .urlProtocol(sender, didReceive: response, cacheStoragePolicy: policy)
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
    guard readUnlessDone(&transfer, of: sender, at: now, isLast: true) else { return }
    let task = sender.task
    // The response's getter waits for a queue of the task, so it is called only if libcurl's info is not
    // enough, or has to be compared.
    let isAsked =
      !transfer.isSufficient || context.keepsHeaders || Witness.libcurl.isDue || !Doubts.ofLibcurl.isEmpty
    let response = isAsked ? task?.response as? HTTPURLResponse : nil
    if transfer.isNative { compare(&transfer, with: response, at: now) }
    if let task, response?.statusCode == 401, response?.value(forHTTPHeaderField: "WWW-Authenticate") != nil {
      // No end (RFC 9110, section 11.6.1): Foundation looks for credentials, and may serve the rest with
      // another loader.
      progress.state.withLock { [transfer] in $0.beginChallenge(after: transfer) }
      original.urlProtocolDidFinishLoading(sender)
      return watch(task)
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
  private func forward(
    at now: Instant = .now, _ note: (inout TransferProgress.State) -> Void = { _ in }
  ) -> (any URLProtocolClient)? {
    progress.state.withLock { state in
      if state.phase == .done { return nil }
      state.lastActivity = now
      note(&state)
      return original
    }
  }
}
