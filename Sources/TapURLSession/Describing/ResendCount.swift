import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How often a loader sent its request again for a redirect.
enum ResendCount {
  /// Reads the count, or answers `nil` where nobody tells it.
  ///
  /// A native loader follows redirects itself and reports none of them; it counts them in a private property
  /// (`redirectCount` in `HTTPURLProtocol.swift` of swift-corelibs-foundation), which reflection shows. That
  /// takes its time, and is done only for a response from another URL than the request's. A redirect from a URL
  /// to itself is not seen.
  ///
  /// - Parameter url: The request's.
  static func read(from loader: URLProtocol, url: URL?, response: URLResponse?) -> Int? {
    guard let response else { return nil }
    guard response.url != url else { return 0 }
    return Mirror(reflecting: loader).descendant("redirectCount") as? Int
  }
}
