import TapCore
import TestSupport
import Testing

@testable import TapURLSession

/// The loader for platforms whose native loaders are out of reach, as far as Linux allows: data tasks. Elsewhere
/// it is not used, and there nothing has been run.
@Suite struct ForwardingLoaderTests {
  let observer = RecordingObserver()
  let tap: URLSessionTap

  init() {
    tap = URLSessionTap(observers: [observer])
  }

  private func configuration(
    _ original: URLSessionConfiguration = .ephemeral
  ) -> URLSessionConfiguration {
    tap.install(in: original, client: "forwarded", forwards: true)
    return original
  }

  private func run(
    _ origin: Origin, style: Style = .async, change: (inout Exchange) -> Void = { _ in }
  ) async throws -> Transcript {
    var exchange = Exchange(kind: .data, style: style, request: URLRequest(url: origin.url()))
    change(&exchange)
    return try await exchange.run(configuration())
  }

  @Test(arguments: [Style.async, .completionHandler, .sessionDelegate])
  func `a response arrives whole, is sent for once and is recorded once`(style: Style) async throws {
    let origin = try Origin { _ in
      [.response(headers: [("X-Origin", "yes")], body: Scenario.body)]
    }
    let transcript = try await run(origin, style: style)
    #expect(transcript.status == 200)
    #expect(transcript.headers["X-Origin"] == "yes")
    #expect(transcript.body == Scenario.body)
    #expect(origin.requests.count == 1)
    try await observer.waitForEnds(1)
    #expect(observer.ended.map(\.end) == [.response(statusCode: 200)])
    #expect(observer.ended.map(\.responseBodySize) == [Int64(Scenario.body.count)])
    #expect(observer.ended.allSatisfy { $0.timeToFirstByte != nil })
  }

  @Test func `the settings of the tapped session hold`() async throws {
    let origin = try Origin { _ in [.response(headers: [("Set-Cookie", "flavour=oat; Path=/")])] }
    let original = URLSessionConfiguration.ephemeral
    original.httpAdditionalHeaders = ["X-App": "yes"]
    let patched = configuration(original)
    let exchange = Exchange(kind: .data, style: .async, request: URLRequest(url: origin.url()))
    let transcript = try await exchange.run(patched)
    #expect(transcript.cookies == ["flavour=oat"])
    _ = try await exchange.run(patched)
    #expect(origin.requests.map { $0.headers["x-app"] } == ["yes", "yes"])
    #expect(origin.requests.last?.headers["cookie"] == "flavour=oat")
  }

  @Test func `a body in memory is sent`() async throws {
    let origin = try Origin { _ in [.response()] }
    var request = URLRequest(url: origin.url())
    request.httpMethod = "POST"
    request.httpBody = Data("body".utf8)
    let exchange = Exchange(kind: .data, style: .async, request: request)
    _ = try await exchange.run(configuration())
    #expect(origin.requests.map(\.body) == [Array("body".utf8)])
  }

  @Test func `a failure is handed on`() async throws {
    let origin = try Origin { _ in [.close] }
    let stock = try await Exchange(kind: .data, style: .async, request: URLRequest(url: origin.url()))
      .run(.ephemeral)
    let transcript = try await run(origin)
    #expect(transcript.error == stock.error)
    #expect(transcript.error != nil)
    tap.flush()
    #expect(observer.ended.map(\.end) == [.failure(.connectionLost, statusCode: nil)])
  }

  @Test(arguments: [Style.async, .completionHandler])
  func `a cancel reaches the server's connection`(style: Style) async throws {
    let (arrived, goOn) = (Gate(), Gate())
    let origin = try Origin { _ in
      [.text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"), .signal(arrived), .hold(goOn)]
    }
    let transcript = try await run(origin, style: style) {
      $0.interruption = .cancel
      $0.isDue = arrived
      $0.goOn = goOn
    }
    #expect(transcript.error == "NSURLErrorDomain -999")
    try await observer.waitForEnds(1)
    #expect(observer.ended.map(\.end) == [.cancelled])
  }

  @Test func `a class of the app's own goes first`() async throws {
    let original = URLSessionConfiguration.ephemeral
    original.protocolClasses = [MockProtocol.self] + (original.protocolClasses ?? [])
    let url = try #require(URL(string: "http://mock.test/"))
    let exchange = Exchange(kind: .data, style: .async, request: URLRequest(url: url))
    #expect(try await exchange.run(configuration(original)).body == MockProtocol.body)
    tap.flush()
    #expect(observer.ended.map(\.end) == [.response(statusCode: 203)])
  }
}
