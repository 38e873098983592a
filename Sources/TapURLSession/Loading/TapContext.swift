import Foundation
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a metrics protocol class leads back to: all that Foundation cannot pass on.
final class TapContext: Sendable {
  /// The tap that hears of the requests.
  let tap: URLSessionTap
  /// The name given to the factory.
  let client: String
  /// The classes that load what the metrics protocol observes.
  let loaders: LoaderChain
  /// Sends what no class of the chain loads, where the native loaders are out of reach.
  let forwarding: ForwardingSession?

  init(tap: URLSessionTap, client: String, loaders: LoaderChain, forwarding: ForwardingSession?) {
    self.tap = tap
    self.client = client
    self.loaders = loaders
    self.forwarding = forwarding
  }

  /// Whether requests like this one go through the tap.
  func accepts(_ request: URLRequest) -> Bool {
    let url = request.url?.absoluteString ?? ""
    guard tap.records(request, url: url) else { return false }
    if loaders.load(request, url: url) { return true }
    if loaders.refuses(request) { recordRefusal(of: request) }
    return false
  }

  /// The loader that the metrics protocol observes.
  func makeLoader(
    for task: URLSessionTask, request: URLRequest, cachedResponse: CachedURLResponse?,
    client: any URLProtocolClient
  ) -> URLProtocol? {
    if let forwarding, loaders.ownLoader(for: request) == nil {
      return ForwardingLoader(task: task, request: request, client: client, session: forwarding)
    }
    return loaders.loader(for: request)?.init(task: task, cachedResponse: cachedResponse, client: client)
  }

  /// Foundation fails a task that nobody loads by itself and asks no loader: the question is the one sign of it.
  private func recordRefusal(of request: URLRequest) {
    let refused = TappedRequest(request: request, context: self)
    refused.start()
    refused.end(.failure(.unsupportedURL, statusCode: nil))
  }
}
