import Foundation
import FoundationNetworking

/// Downloads by the shared session.
package enum Files {
  package static func size(of url: URL) async throws -> Int {
    try await withCheckedThrowingContinuation { continuation in
      URLSession.shared.downloadTask(with: url) { file, _, error in
        if let error { return continuation.resume(throwing: error) }
        continuation.resume(returning: file.flatMap { try? Data(contentsOf: $0).count } ?? -1)
      }.resume()
    }
  }
}

/// A client whose session an app may give, and which makes one if it does not.
package struct API: Sendable {
  private let session: URLSession

  package init(session: URLSession = URLSession(configuration: .default)) { self.session = session }

  package func get(_ url: URL) async throws -> String {
    let (data, response) = try await session.data(from: url)
    return "\((response as? HTTPURLResponse)?.statusCode ?? 0) \(String(decoding: data, as: UTF8.self))"
  }
}

/// Answers from its own protocol class, the only one of its session.
package struct Fixtures: Sendable {
  private let session: URLSession

  package init() {
    let configuration = URLSessionConfiguration.default
    configuration.protocolClasses = [FixtureProtocol.self]
    session = URLSession(configuration: configuration)
  }

  package func get(_ url: URL) async throws -> String {
    String(decoding: try await session.data(from: url).0, as: UTF8.self)
  }
}

package final class FixtureProtocol: URLProtocol {
  package override class func canInit(with request: URLRequest) -> Bool {
    request.url?.host == "fixture.test"
  }

  package override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  package override func startLoading() {
    guard let url = request.url,
      let response = HTTPURLResponse(url: url, statusCode: 203, httpVersion: "HTTP/1.1", headerFields: nil)
    else { return }
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client?.urlProtocol(self, didLoad: Data("fixture".utf8))
    client?.urlProtocolDidFinishLoading(self)
  }

  package override func stopLoading() {}
}
