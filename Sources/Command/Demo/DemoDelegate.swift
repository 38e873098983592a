import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Leaves everything to the defaults.
final class DemoDelegate: NSObject, URLSessionDataDelegate, Sendable {}
