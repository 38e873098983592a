import TapURLSession
import TestSupport

/// URLProtocols of the app's own go on behind the tap, and their requests are recorded.
struct AppProtocolTests {
  @Test(
    arguments: [
      ("http://mock.test/", RequestEnd.response(statusCode: 203)),
      ("http://fails.test/", .failure(.other, statusCode: nil)),
      ("http://refuses.test/", .failure(.other, statusCode: nil)),
      ("http://broken.test/", .failure(.connectionLost, statusCode: 206)),
      ("http://plain.test/", .response(statusCode: nil)),
    ], Style.allCases)
  func `each works as without a tap, with one and with two`(
    target: (url: String, end: RequestEnd), style: Style
  ) async throws {
    let observers = [RecordingObserver(), RecordingObserver()]
    let taps = observers.map { URLSessionTap(observers: [$0]) }
    let original = URLSessionConfiguration.ephemeral(with: MockProtocol.self, RefusingProtocol.self)
    let url = try #require(URL(string: target.url))
    let call = AppCall(kind: .data, style: style, request: URLRequest(url: url))
    let stock = try await call.run(original)
    let one = taps[0].sessionConfiguration(from: original, client: "in")
    #expect(try await call.run(one) == stock)
    #expect(try await call.run(taps[1].sessionConfiguration(from: one, client: "out")) == stock)
    for (tap, observer) in zip(taps, observers) {
      tap.flush()
      for observation in observer.ended {
        #expect(observation.end == target.end && observation.errorMessage == nil)
        let isAnswered = !["http://fails.test/", "http://refuses.test/"].contains(target.url)
        #expect(observation.requestBodySize == (observation.errorType == nil ? 0 : nil))
        // All that comes of an app's own loader comes by the relay.
        #expect((observation.timeToFirstByte != nil) == isAnswered)
      }
    }
    expectEqual(observers.map { $0.ended.map(\.request.client) }, [["in", "in"], ["out"]])
  }

  @Test(arguments: [Style.async, .completionHandler])
  func `a signer adds its header, tapped as in stock`(style: Style) async throws {
    let origin = try Origin { _ in [.response(body: [1, 2, 3])] }
    let (tap, observer) = URLSessionTap.observed()
    let original = URLSessionConfiguration.ephemeral(with: SigningProtocol.self)
    let call = AppCall(kind: .data, style: style, request: URLRequest(url: origin.url("/signed")))
    let stock = try await call.run(original)
    let tapped = try await call.run(tap.sessionConfiguration(from: original, client: "test"))
    #expect(tapped == stock)
    #expect(tapped.body == [1, 2, 3])
    expectEqual(origin.requests.map { $0.headers["x-signature"] }, ["signed", "signed"])
    try await observer.waitForEnds(1)
    expectEqual(observer.ended.map(\.end), [.response(statusCode: 200)])
    expectEqual(observer.ended.map(\.responseBodySize), [3])
  }

  /// Takes what ``MockProtocol`` does.
  private final class OtherMock: MockProtocol {
    static let questions = Mutex(0)

    override class func canInit(with request: URLRequest) -> Bool {
      questions.withLock { $0 += 1 }
      return super.canInit(with: request)
    }

    override func startLoading() { client?.urlProtocol(self, didFailWithError: URLError(.dataNotAllowed)) }
  }

  @Test func `of several that would take a request the first gets it, tapped as in stock`() async throws {
    let tap = URLSessionTap(observers: [])
    var last = 0
    let orders: [[AnyClass]] = [[MockProtocol.self, OtherMock.self], [OtherMock.self, MockProtocol.self]]
    for classes in orders {
      let original = URLSessionConfiguration.ephemeral
      original.protocolClasses = classes + (original.protocolClasses ?? [])
      let url = try #require(URL(string: "http://mock.test/"))
      let call = AppCall(kind: .data, style: .async, request: URLRequest(url: url))
      let stock = try await call.run(original)
      #expect(stock.status == (classes.first == MockProtocol.self ? 203 : nil))
      let before = OtherMock.questions.withLock { $0 }
      #expect(try await call.run(tap.sessionConfiguration(from: original, client: "test")) == stock)
      let asked = OtherMock.questions.withLock { $0 } - before
      #expect(asked == before - last)
      last += asked * 2
    }
  }
}
