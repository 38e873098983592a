import Foundation
import FoundationNetworking

/// In the shape of an analytics SDK: a session inside, and batches by upload tasks with completion handlers.
package final class Analytics: Sendable {
  private let session: URLSession
  private let collector: URL

  package init(collector: URL) {
    self.collector = collector
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = ["X-Library": "analytics"]
    configuration.httpCookieStorage = nil
    session = URLSession(configuration: configuration)
  }

  /// What the collector answers.
  package func send(_ events: [String]) async throws -> String {
    var request = URLRequest(url: collector)
    request.httpMethod = "POST"
    let body = Data(events.joined(separator: "\n").utf8)
    return try await withCheckedThrowingContinuation { continuation in
      session.uploadTask(with: request, from: body) { data, _, error in
        if let error { return continuation.resume(throwing: error) }
        continuation.resume(returning: String(decoding: data ?? Data(), as: UTF8.self))
      }.resume()
    }
  }
}
