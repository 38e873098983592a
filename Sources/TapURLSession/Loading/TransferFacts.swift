import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What passed the relay on the way to the app.
struct TransferFacts {
  /// The last response that was reported, and when its head arrived.
  private(set) var response: URLResponse?
  private(set) var responseInstant: ContinuousClock.Instant?
  /// The bytes of the body that came by, or `nil` if none did: a native loader gives a delegate its bytes
  /// directly, past the client.
  private(set) var loadedBytes: Int64?
  /// The loader answered from the session's cache.
  var isFromCache = false
  /// The response asks for credentials: Foundation may serve the rest of the task without us.
  var isChallenged = false

  /// Takes a response. An interim one (RFC 9110, section 15.2) is not the answer.
  mutating func take(_ response: URLResponse, at instant: ContinuousClock.Instant) {
    if let status = (response as? HTTPURLResponse)?.statusCode, (100..<200).contains(status) { return }
    self.response = response
    responseInstant = instant
  }

  /// Adds a piece of the body.
  mutating func load(_ count: Int) {
    loadedBytes = (loadedBytes ?? 0) + Int64(count)
  }
}
