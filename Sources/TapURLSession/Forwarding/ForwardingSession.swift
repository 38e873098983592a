import Dispatch
import Synchronization
import TapFoundation

/// Sends the requests of a tapped session with a session of its own, where the native loaders are out of reach.
///
/// That is so on Apple's platforms, whose URLSession cannot be tapped as on Linux: what a tap sees there it has to
/// send. The session has the settings of the tapped one, and the same cookies, credentials and cache, less the
/// tap. On Linux this is compiled and tested, and not used.
final class ForwardingSession: Sendable {
  private let session: URLSession
  private let router: TransferRouter

  /// - Parameter configuration: The tapped session's, without the tap.
  init(_ configuration: URLSessionConfiguration) {
    router = TransferRouter()
    session = URLSession(configuration: configuration, delegate: router, delegateQueue: nil)
  }

  /// The session lives as long as its requests.
  deinit { session.finishTasksAndInvalidate() }

  /// Sends a request, and tells the transfer what comes back.
  func send(_ request: URLRequest, for transfer: ForwardedTransfer) {
    let task = session.dataTask(with: request)
    guard transfer.begin(task) else { return task.cancel() }
    router.add(transfer, for: task)
    task.resume()
  }
}

/// One request on its way through a ``ForwardingSession``, for a loader that waits for it.
///
/// The loader is told nothing after it was stopped, and of one end at most.
final class ForwardedTransfer: Sendable {
  private struct State: @unchecked Sendable {
    /// `nil` when the transfer is over. Foundation's protocols are not Sendable; it calls them itself from its
    /// own queue and from those of delegates.
    var loader: URLProtocol?
    var task: URLSessionTask?
    /// What came of the body, where it has to be delivered in one piece.
    var body = Data()
    var metrics: URLSessionTaskMetrics?
  }

  private let state: Mutex<State>

  init(for loader: sending URLProtocol) {
    state = Mutex(State(loader: loader))
  }

  /// What URLSession has measured of the transfer. Known before its end, and on Apple's platforms alone.
  var metrics: URLSessionTaskMetrics? { state.withLock { $0.metrics } }

  /// Takes the task. `false` if the loader was stopped before.
  func begin(_ task: URLSessionTask) -> Bool {
    state.withLock { state in
      state.task = task
      return state.loader != nil
    }
  }

  /// The loader was stopped.
  func stop() {
    let task = state.withLock { state in
      state.loader = nil
      return state.task
    }
    // To cancel waits for a queue that this may be called on.
    if let task { DispatchQueue.global().async { task.cancel() } }
  }

  fileprivate func received(_ data: Data) {
    #if canImport(FoundationNetworking)
      // On Linux every piece replaces the one before in what a completion handler gets.
      state.withLock { $0.body.append(data) }
    #else
      tell { client, loader in client.urlProtocol(loader, didLoad: data) }
    #endif
  }

  fileprivate func measured(_ metrics: URLSessionTaskMetrics) {
    if !metrics.transactionMetrics.isEmpty { state.withLock { $0.metrics = metrics } }
  }

  fileprivate func completed(_ error: (any Error)?) {
    let body = state.withLock { $0.body }
    tell { client, loader in
      if let error { return client.urlProtocol(loader, didFailWithError: error) }
      if !body.isEmpty { client.urlProtocol(loader, didLoad: body) }
      client.urlProtocolDidFinishLoading(loader)
    }
    state.withLock { $0.loader = nil }
  }

  fileprivate func tell(_ event: (any URLProtocolClient, URLProtocol) -> Void) {
    nonisolated(unsafe) var loader: URLProtocol?
    state.withLock { loader = $0.loader }
    if let loader, let client = loader.client { event(client, loader) }
  }
}

/// The delegate of a ``ForwardingSession``: hands each event to the transfer that it belongs to.
private final class TransferRouter: NSObject, URLSessionDataDelegate {
  private let transfers = Mutex<[Int: ForwardedTransfer]>([:])

  func add(_ transfer: ForwardedTransfer, for task: URLSessionTask) {
    transfers.withLock { $0[task.taskIdentifier] = transfer }
  }

  private func transfer(of task: URLSessionTask) -> ForwardedTransfer? {
    transfers.withLock { $0[task.taskIdentifier] }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @Sendable @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    transfer(of: dataTask)?.tell { client, loader in
      // The inner session caches already.
      client.urlProtocol(loader, didReceive: response, cacheStoragePolicy: .notAllowed)
    }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    transfer(of: dataTask)?.received(data)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
  ) {
    transfer(of: task)?.measured(metrics)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.completed(error)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @Sendable @escaping (URLRequest?) -> Void
  ) {
    #if canImport(FoundationNetworking)
      // On Linux a client that gets a redirect ends the process (`_ProtocolClient` in
      // `URLSessionTask.swift` of swift-corelibs-foundation).
      completionHandler(request)
    #else
      // The tapped session asks its own delegate, and makes a new loader for the new request.
      let transfer = transfer(of: task)
      transfer?.tell { client, loader in
        client.urlProtocol(loader, wasRedirectedTo: request, redirectResponse: response)
      }
      transfer?.stop()
      completionHandler(nil)
    #endif
  }
}

/// The loader of a tapped task where the native one is out of reach: see ``ForwardingSession``.
final class ForwardingLoader: URLProtocol {
  private let session: ForwardingSession
  private var transfer: ForwardedTransfer?

  init(
    task: URLSessionTask, request: URLRequest, client: any URLProtocolClient, session: ForwardingSession
  ) {
    self.session = session
    super.init(request: request, cachedResponse: nil, client: client)
    #if canImport(FoundationNetworking)
      self.task = task
    #endif
  }

  required init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    session = ForwardingSession(.ephemeral)
    super.init(request: request, cachedResponse: cachedResponse, client: client)
  }

  /// What URLSession has measured of the transfer.
  var metrics: URLSessionTaskMetrics? { transfer?.metrics }

  override func startLoading() {
    // Foundation starts a loader again after a suspension: the transfer goes on.
    guard transfer == nil else { return }
    nonisolated(unsafe) let loader = self
    let transfer = ForwardedTransfer(for: loader)
    self.transfer = transfer
    let (session, request) = (session, request)
    // On Linux a task cannot be made here: all sessions work on one queue, and this is it.
    DispatchQueue.global().async { session.send(request, for: transfer) }
  }

  override func stopLoading() {
    guard task?.state != .suspended else { return }
    transfer?.stop()
  }
}
