import TestSupport

extension URLSessionConfiguration {
  /// An ephemeral one with these classes before Foundation's.
  static func ephemeral(with classes: AnyClass...) -> URLSessionConfiguration {
    TestSupport.with(Self.ephemeral) { $0.protocolClasses = classes + ($0.protocolClasses ?? []) }
  }
}

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

final class FailingProtocol: MockProtocol {
  override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "fails.test" }

  /// The text may hold a secret of the app's.
  override func startLoading() {
    let error = URLError(.dataNotAllowed, userInfo: [NSLocalizedDescriptionKey: "the token is s3cret"])
    client?.urlProtocol(self, didFailWithError: error)
  }
}

/// A URLProtocol of an app's own that takes a request and refuses it before its start.
final class RefusingProtocol: MockProtocol {
  override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "refuses.test" }

  required init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    super.init(request: request, cachedResponse: cachedResponse, client: client)
  }

  required init(task: URLSessionTask, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    let request = task.originalRequest ?? URLRequest(url: URL(fileURLWithPath: "/"))
    super.init(request: request, cachedResponse: cachedResponse, client: client)
    self.task = task
    self.client?.urlProtocol(self, didFailWithError: URLError(.dataNotAllowed))
  }

  override func startLoading() {}
}

/// A URLProtocol of an app's own that fails after the head of its response.
final class BrokenOffProtocol: MockProtocol {
  override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "broken.test" }

  override func startLoading() {
    guard let url = request.url,
      let response = HTTPURLResponse(url: url, statusCode: 206, httpVersion: "HTTP/1.1", headerFields: [:])
    else { return }
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client?.urlProtocol(self, didFailWithError: URLError(.networkConnectionLost))
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

/// A URLProtocol of an app's own that adds a header: it sends the request again, away from Foundation's
/// queue, where that works for data tasks.
final class SigningProtocol: MockProtocol {
  override class func canInit(with request: URLRequest) -> Bool {
    request.url?.path.hasPrefix("/signed") == true && request.value(forHTTPHeaderField: "X-Signature") == nil
  }

  override func startLoading() {
    var signed = request
    signed.setValue("signed", forHTTPHeaderField: "X-Signature")
    // Foundation is done with this object only when it has heard of the end.
    nonisolated(unsafe) let loader = self
    DispatchQueue.global().async { [signed] in
      URLSession(configuration: .ephemeral).dataTask(with: signed) { data, response, error in
        if let error {
          loader.client?.urlProtocol(loader, didFailWithError: error)
        } else {
          if let response {
            loader.client?.urlProtocol(loader, didReceive: response, cacheStoragePolicy: .notAllowed)
          }
          loader.client?.urlProtocol(loader, didLoad: data ?? Data())
          loader.client?.urlProtocolDidFinishLoading(loader)
        }
      }.resume()
    }
  }
}
