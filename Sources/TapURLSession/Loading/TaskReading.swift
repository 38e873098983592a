import Foundation
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a task tells of its transfer when that is over.
struct TaskReading {
  let response: HTTPURLResponse?
  let requestBodySize: Int64?
  /// What Foundation has counted of a download, where it counts.
  let downloadedBytes: Int64?
  let instant = Instant.now

  /// - Parameters:
  ///   - method: The request's.
  ///   - wasResent: The request went out again after a challenge.
  init(_ task: URLSessionTask, response: URLResponse?, method: String, wasResent: Bool) {
    self.response = response as? HTTPURLResponse
    requestBodySize = BodySizes.sent(by: task, method: method, wasResent: wasResent)
    downloadedBytes = (task as? URLSessionDownloadTask)?.countOfBytesReceived
  }
}
