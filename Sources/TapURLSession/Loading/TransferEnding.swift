import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// All that is known of a transfer that came to its end with a response.
struct TransferEnding {
  let response: HTTPURLResponse?
  let requestBodySize: Int64?
  private(set) var firstByte: ContinuousClock.Instant?
  let resendCount: Int?
  let isFromCache: Bool
  let instant = ContinuousClock.now

  private let method: String
  private var loadedBytes: Int64?
  private let downloadedBytes: Int64?

  /// - Parameter resendCount: What the loader knows of redirects.
  init(
    request: URLRequest, response: URLResponse?, task: URLSessionTask?, facts: TransferFacts,
    resendCount: Int?
  ) {
    self.response = response as? HTTPURLResponse
    method = request.httpMethod ?? "GET"
    requestBodySize = task.flatMap {
      BodySizes.sent(by: $0, request: request, wasResent: facts.isChallenged)
    }
    loadedBytes = facts.loadedBytes
    downloadedBytes = (task as? URLSessionDownloadTask)?.countOfBytesReceived
    // The head that passed before a challenge was answered was not the final one.
    firstByte = facts.isChallenged ? nil : facts.responseInstant
    self.resendCount = facts.isChallenged ? nil : resendCount
    isFromCache = facts.isFromCache
  }

  /// The bytes of the response's body. Read from its headers when it is asked for.
  var responseBodySize: Int64? {
    BodySizes.received(
      method: method, response: response, loadedBytes: loadedBytes, downloadedBytes: downloadedBytes)
  }

  /// Adds what a delegate got of the body, and when it got the head, where it is told.
  mutating func deliver(_ bytes: Int64?, firstByte head: ContinuousClock.Instant? = nil) {
    loadedBytes = bytes ?? loadedBytes
    firstByte = head ?? firstByte
  }
}
