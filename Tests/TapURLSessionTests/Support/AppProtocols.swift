import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A URLProtocol of an app's own that answers requests for `mock.test` itself.
class MockProtocol: URLProtocol {
  static let body = Array("from the mock".utf8)

  override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "mock.test" }
  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    guard let url = request.url,
      let response = HTTPURLResponse(url: url, statusCode: 203, httpVersion: "HTTP/1.1", headerFields: [:])
    else { return }
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client?.urlProtocol(self, didLoad: Data(Self.body))
    client?.urlProtocolDidFinishLoading(self)
  }

  override func stopLoading() {}
}

/// A URLProtocol of an app's own that fails every request for `fails.test`.
final class FailingProtocol: MockProtocol {
  override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "fails.test" }

  override func startLoading() {
    client?.urlProtocol(self, didFailWithError: URLError(.dataNotAllowed))
  }
}

/// A URLProtocol of an app's own that answers without HTTP.
final class PlainProtocol: MockProtocol {
  override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "plain.test" }

  override func startLoading() {
    guard let url = request.url else { return }
    let response = URLResponse(url: url, mimeType: nil, expectedContentLength: 13, textEncodingName: nil)
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client?.urlProtocol(self, didLoad: Data(Self.body))
    client?.urlProtocolDidFinishLoading(self)
  }
}
