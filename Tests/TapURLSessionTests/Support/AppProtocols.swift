import TestSupport

extension URLSessionConfiguration {
  /// An ephemeral one with these classes before Foundation's.
  static func ephemeral(with classes: AnyClass...) -> URLSessionConfiguration {
    TestSupport.with(Self.ephemeral) { $0.protocolClasses = classes + ($0.protocolClasses ?? []) }
  }
}

/// A URLProtocol of an app's own that answers requests itself, each host's in its own way.
class MockProtocol: URLProtocol {
  static let body = Array("from the mock".utf8)

  override class func canInit(with request: URLRequest) -> Bool {
    ["mock.test", "fails.test", "broken.test", "plain.test"].contains(request.url?.host)
  }
  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    guard let url = request.url else { return }
    func head(_ status: Int) -> URLResponse? {
      HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: [:])
    }
    let (response, failure): (URLResponse?, URLError?) =
      switch url.host {
      // The text may hold a secret of the app's.
      case "fails.test":
        (nil, URLError(.dataNotAllowed, userInfo: [NSLocalizedDescriptionKey: "the token is s3cret"]))
      case "broken.test": (head(206), URLError(.networkConnectionLost))
      // Without HTTP.
      case "plain.test":
        (URLResponse(url: url, mimeType: nil, expectedContentLength: 13, textEncodingName: nil), nil)
      default: (head(203), nil)
      }
    if let response { client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed) }
    if let failure {
      client?.urlProtocol(self, didFailWithError: failure)
    } else {
      client?.urlProtocol(self, didLoad: Data(Self.body))
      client?.urlProtocolDidFinishLoading(self)
    }
  }

  override func stopLoading() {}
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
