import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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
