import Foundation
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What is learned of a transfer: what passes the relay on the way to the app, and what the task tells in the end.
struct TransferFacts {
  /// The last response that was reported, until the transfer is over, and when its head arrived.
  private var response: HTTPURLResponse?
  private(set) var statusCode: Int?
  private(set) var headInstant: Instant?
  /// The bytes of the body that came by, or `nil` if none did: a native loader gives a delegate its bytes
  /// directly, past the client.
  private(set) var loadedBytes: Int64?
  private(set) var requestBodySize: Int64?
  /// Known when the transfer is over.
  private(set) var responseBodySize: Int64?
  private(set) var responseHeaders: [String: String] = [:]
  private(set) var downloadedBytes: Int64?
  private(set) var resendCount: Int?
  /// When the loader was done.
  private(set) var finishInstant: Instant?
  /// The loader answered from the session's cache.
  var isFromCache = false
  /// The response asks for credentials: Foundation may serve the rest of the task without us.
  private(set) var isChallenged = false

  /// The loader failed.
  mutating func fail() {
    response = nil
  }

  /// Takes a response. An interim one (RFC 9110, section 15.2) is not the answer.
  mutating func take(_ response: URLResponse, at instant: Instant) {
    let response = response as? HTTPURLResponse
    if let status = response?.statusCode, (100..<200).contains(status) { return }
    note(response)
    headInstant = instant
  }

  /// Adds a piece of the body.
  mutating func load(_ count: Int) {
    loadedBytes = (loadedBytes ?? 0) + Int64(count)
  }

  /// Takes what a delegate got of the body in all, and when it got the head, where it is told.
  mutating func deliver(_ bytes: Int64?, head: Instant?) {
    loadedBytes = bytes ?? loadedBytes
    headInstant = head ?? headInstant
  }

  /// Takes what is known when a loader is done. The head that passed before a challenge was answered was not
  /// the final one.
  mutating func finish(_ reading: TaskReading, resendCount: Int?, isChallenged: Bool) {
    finishInstant = reading.instant
    if let response = reading.response { note(response) }
    requestBodySize = reading.requestBodySize
    downloadedBytes = reading.downloadedBytes
    self.resendCount = resendCount
    self.isChallenged = isChallenged
    if isChallenged { headInstant = nil }
  }

  /// The transfer is over. The response goes, and is not kept until the observers are told.
  mutating func close(_ request: RequestOutline) {
    responseBodySize = BodySizes.received(
      method: request.method, statusCode: statusCode, response: response, loadedBytes: loadedBytes,
      downloadedBytes: downloadedBytes)
    if request.keepsHeaders { responseHeaders = response?.headers ?? [:] }
    response = nil
  }

  private mutating func note(_ response: HTTPURLResponse?) {
    self.response = response
    statusCode = response?.statusCode
  }
}
