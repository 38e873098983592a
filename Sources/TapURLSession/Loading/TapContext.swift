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

  init(tap: URLSessionTap, client: String, loaders: LoaderChain) {
    self.tap = tap
    self.client = client
    self.loaders = loaders
  }

  /// Whether requests like this one go through the tap.
  func accepts(_ request: URLRequest) -> Bool {
    guard tap.records(request) else { return false }
    if loaders.load(request) { return true }
    if loaders.refuses(request) { recordRefusal(of: request) }
    return false
  }

  /// Foundation fails a task that nobody loads by itself and asks no loader: the question is the one sign of it.
  private func recordRefusal(of request: URLRequest) {
    let refused = TappedRequest(request: request, context: self)
    refused.start()
    refused.end(.failure(.unsupportedURL, statusCode: nil))
  }
}
