import Dispatch
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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
    /// What URLSession has measured.
    var metrics: URLSessionTaskMetrics?
  }

  private let state: Mutex<State>

  init(for loader: sending URLProtocol) {
    state = Mutex(State(loader: loader))
  }

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

  func received(_ response: URLResponse) {
    tell { client, loader in
      // The inner session caches already.
      client.urlProtocol(loader, didReceive: response, cacheStoragePolicy: .notAllowed)
    }
  }

  func received(_ data: Data) {
    #if canImport(FoundationNetworking)
      // On Linux every piece replaces the one before in what a completion handler gets.
      state.withLock { $0.body.append(data) }
    #else
      tell { client, loader in client.urlProtocol(loader, didLoad: data) }
    #endif
  }

  func redirected(to request: URLRequest, by response: HTTPURLResponse) {
    tell { client, loader in
      client.urlProtocol(loader, wasRedirectedTo: request, redirectResponse: response)
    }
    stop()
  }

  func measured(_ metrics: URLSessionTaskMetrics) {
    if !metrics.transactionMetrics.isEmpty { state.withLock { $0.metrics = metrics } }
  }

  /// What URLSession has measured of the transfer. Known before its end, and on Apple's platforms alone.
  var metrics: URLSessionTaskMetrics? { state.withLock { $0.metrics } }

  func completed(_ error: (any Error)?) {
    let body = state.withLock { $0.body }
    tell { client, loader in
      if let error {
        client.urlProtocol(loader, didFailWithError: error)
      } else {
        if !body.isEmpty { client.urlProtocol(loader, didLoad: body) }
        client.urlProtocolDidFinishLoading(loader)
      }
    }
    state.withLock { $0.loader = nil }
  }

  private func tell(_ event: (any URLProtocolClient, URLProtocol) -> Void) {
    nonisolated(unsafe) var loader: URLProtocol?
    state.withLock { loader = $0.loader }
    guard let loader, let client = loader.client else { return }
    event(client, loader)
  }
}
