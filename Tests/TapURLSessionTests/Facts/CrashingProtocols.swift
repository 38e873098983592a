import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The well-known recipe: sends the request again with a session of its own, and hands the answer back.
class RecipeProtocol: MockProtocol {
  override class func canInit(with request: URLRequest) -> Bool {
    request.value(forHTTPHeaderField: "X-Handled") == nil
  }

  override func startLoading() {
    var request = request
    request.setValue("yes", forHTTPHeaderField: "X-Handled")
    URLSession(configuration: .ephemeral).dataTask(with: request) { _, _, _ in }.resume()
  }
}

/// Tells the client of a redirect, as the documentation says.
final class RedirectingProtocol: MockProtocol {
  override func startLoading() {
    guard let url = request.url else { return }
    let response = URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
    client?.urlProtocol(self, wasRedirectedTo: URLRequest(url: url), redirectResponse: response)
  }
}

/// Delivers its body in two pieces.
final class PiecewiseProtocol: MockProtocol {
  override func startLoading() {
    guard let url = request.url,
      let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
    else { return }
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client?.urlProtocol(self, didLoad: Data("first".utf8))
    client?.urlProtocol(self, didLoad: Data("last".utf8))
    client?.urlProtocolDidFinishLoading(self)
  }
}

/// Registers a class while Foundation chooses one.
final class RegisteringProtocol: MockProtocol {
  override class func canInit(with request: URLRequest) -> Bool {
    URLProtocol.registerClass(MockProtocol.self)
  }
}

/// Reads the priority of its task.
final class PriorityProtocol: MockProtocol {
  override func startLoading() {
    if task?.priority != nil { super.startLoading() }
  }
}

/// Waits on Foundation's queue for the request of another session.
final class BlockingProtocol: MockProtocol {
  static let other = Mutex<URL?>(nil)
  static let otherArrivedInTime = Mutex<Bool?>(nil)

  override class func canInit(with request: URLRequest) -> Bool { true }

  override func startLoading() {
    let (other, hasAnswer) = (Self.other.withLock { $0 }, DispatchSemaphore(value: 0))
    Thread {
      guard let other else { return }
      URLSession(configuration: .ephemeral).dataTask(with: other) { _, _, _ in hasAnswer.signal() }.resume()
    }.start()
    let isInTime = hasAnswer.wait(timeout: .now() + .milliseconds(500)) == .success
    Self.otherArrivedInTime.withLock { $0 = isInTime }
    super.startLoading()
  }
}
