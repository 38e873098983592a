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
  /// takes its time, and is done only for a task whose URL is no longer the original one. A redirect from a
  /// URL to itself is not seen.
  static func read(from loader: URLProtocol) -> Int? {
    guard let task = loader.task else { return nil }
    guard task.currentRequest?.url != task.originalRequest?.url else { return 0 }
    return Mirror(reflecting: loader).descendant("redirectCount") as? Int
  }
}
