import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a metrics protocol class leads back to: all that Foundation cannot pass on.
struct TapContext: Sendable {
  /// The tap that hears of the requests.
  let tap: URLSessionTap
  /// The name given to the factory.
  let client: String
  /// The classes that load what the metrics protocol observes.
  let loaders: LoaderChain

  /// Whether requests like this one go through the tap.
  func accepts(_ request: URLRequest) -> Bool {
    tap.records(request) && loaders.loader(for: request) != nil
  }
}
