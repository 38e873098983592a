import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a task tells of its transfer when that is over.
struct TaskReading {
  let response: HTTPURLResponse?
  let requestBodySize: Int64?
  /// What Foundation has counted of a download, where it counts.
  let downloadedBytes: Int64?
  let instant = DispatchTime.now()

  /// - Parameter wasResent: The request went out again after a challenge.
  init(_ task: URLSessionTask, response: URLResponse?, request: URLRequest, wasResent: Bool) {
    self.response = response as? HTTPURLResponse
    requestBodySize = BodySizes.sent(by: task, request: request, wasResent: wasResent)
    downloadedBytes = (task as? URLSessionDownloadTask)?.countOfBytesReceived
  }
}
