import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// All that is known of a transfer that came to its end with a response.
struct TransferEnding {
  private let method: String
  let response: HTTPURLResponse?
  var sizes: BodySizes
  var firstByte: ContinuousClock.Instant?
  var resendCount: Int?
  var isFromCache: Bool
  var instant: ContinuousClock.Instant

  /// - Parameters:
  ///   - resendCount: What the loader knows of redirects.
  init(
    request: URLRequest, response: URLResponse?, task: URLSessionTask?, facts: TransferFacts,
    resendCount: Int?
  ) {
    instant = .now
    method = request.httpMethod ?? "GET"
    self.response = response as? HTTPURLResponse
    sizes = BodySizes(
      request: request, response: response, task: task, loadedBytes: facts.loadedBytes,
      wasResent: facts.isChallenged)
    // The head that passed before a challenge was answered was not the final one.
    firstByte = facts.isChallenged ? nil : facts.responseInstant
    self.resendCount = facts.isChallenged ? nil : resendCount
    isFromCache = facts.isFromCache
  }

  /// Adds what a delegate got of the body.
  mutating func deliver(_ bytes: Int64) {
    sizes.response = BodySizes.received(
      method: method, response: response, loadedBytes: bytes, downloadedBytes: nil)
  }
}
