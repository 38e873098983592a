import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What passed the relay on the way to the app.
struct TransferFacts {
  /// The last response that was reported.
  var response: URLResponse?
  /// The bytes of the body that came by, or `nil` if none did: a native loader gives a delegate its bytes
  /// directly, past the client.
  var loadedBytes: Int64?

  /// Adds a piece of the body.
  mutating func load(_ count: Int) {
    loadedBytes = (loadedBytes ?? 0) + Int64(count)
  }
}
