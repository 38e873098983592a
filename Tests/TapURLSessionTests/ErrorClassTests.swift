import Foundation
import TapCore
import TestSupport
import Testing

@testable import TapURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Each class of errors, from a real failure: what the app sees stays as it is, and the tap says what it was.
@Suite struct ErrorClassTests {
  struct Failure: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var type: RequestErrorType
    var kind = Kind.data
    var steps: @Sendable () -> [OriginStep] = { [] }
    var change: @Sendable (inout URLRequest, _ closedPort: Int) -> Void = { _, _ in }
  }

  static let failures = [
    Failure(
      testDescription: "a server that does not answer in time", type: .timeout, steps: { [.hold(Gate())] },
      change: { request, _ in request.timeoutInterval = 1 }),
    Failure(
      testDescription: "a name that does not exist", type: .dns,
      change: { request, _ in request.url = URL(string: "http://nothing.invalid/") }),
    Failure(
      testDescription: "a port without a listener", type: .connect,
      change: { request, port in request.url = URL(string: "http://127.0.0.1:\(port)/") }),
    Failure(
      testDescription: "a reset in the head", type: .connectionLost,
      steps: { [.text("HTTP/1.1 200 OK\r\nContent-"), .reset] }),
    Failure(
      testDescription: "a body that breaks off", type: .connectionLost,
      steps: { [.text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"), .close] }),
    Failure(
      testDescription: "a chunked body that breaks off", type: .connectionLost,
      steps: { [.text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nonly"), .close] }),
    Failure(testDescription: "no answer at all", type: .connectionLost, steps: { [.close] }),
    Failure(
      testDescription: "TLS to a server that speaks none", type: .tls,
      change: { request, _ in
        request.url = request.url.flatMap { URL(string: "https://127.0.0.1:\($0.port ?? 0)/") }
      }),
    Failure(
      testDescription: "redirects without an end", type: .tooManyRedirects,
      steps: { [.response("302 Found", headers: [("Location", "/again")])] }),
    Failure(
      testDescription: "a body that cannot be decoded", type: .body,
      steps: { [.response(headers: [("Content-Encoding", "gzip")], body: Array("this is no gzip".utf8))] }),
    Failure(
      testDescription: "a GET with a body", type: .body,
      change: { request, _ in request.httpBody = Data("body".utf8) }),
    Failure(
      testDescription: "a URL without a host", type: .unsupportedURL,
      change: { request, _ in request.url = URL(string: "http:///path") }),
    Failure(
      testDescription: "a URL without a scheme", type: .unsupportedURL,
      change: { request, _ in request.url = URL(string: "host/path") }),
    Failure(
      testDescription: "a scheme in capitals, which Foundation does not know", type: .unsupportedURL,
      change: { request, _ in
        request.url = request.url.flatMap { URL(string: "HTTP://127.0.0.1:\($0.port ?? 0)/") }
      }),
    Failure(
      testDescription: "a loader of the app's own that fails", type: .other,
      change: { request, _ in request.url = URL(string: "http://fails.test/") }),
  ]

  @Test(arguments: failures, [Style.async, .completionHandler, .sessionDelegate])
  func `each failure has its class`(failure: Failure, style: Style) async throws {
    let origin = try Origin { _ in failure.steps() }
    let closed = try ClosedPort()
    defer { origin.stop() }
    var request = URLRequest(url: origin.url())
    failure.change(&request, closed.port)
    try await Self.expect(failure.type, Exchange(kind: failure.kind, style: style, request: request))
    withExtendedLifetime(closed) {}
  }

  @Test func `an upload of a file that is not there fails by its body`() async throws {
    let origin = try Origin { _ in [.response()] }
    defer { origin.stop() }
    var request = URLRequest(url: origin.url())
    request.httpMethod = "POST"
    let observer = RecordingObserver()
    let tap = URLSessionTap(observers: [observer])
    let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "test"))
    do {
      _ = try await session.upload(for: request, fromFile: URL(fileURLWithPath: "/no/such/file"))
      Issue.record("there is no such file")
    } catch {
      #expect((error as? URLError)?.code == .fileDoesNotExist)
    }
    tap.flush()
    #expect(observer.ended.map(\.end) == [.failure(.body, statusCode: nil)])
  }

  @Test(
    .enabled(if: Tool.isUsable("openssl"), "openssl is not installed"),
    arguments: [Style.async, .completionHandler, .sessionDelegate])
  func `a certificate that is not trusted is a failure of TLS`(style: Style) async throws {
    let server = try await TLSServer.start()
    let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
    try await Self.expect(.tls, Exchange(kind: .data, style: style, request: URLRequest(url: url)))
    try await server.stop()
  }

  /// libcurl says what proxy it cannot use. In a process of its own, since all sessions read the variable.
  @Test func `the credentials of a proxy are in no message`() async {
    await #expect(processExitsWith: .success) {
      alarm(60)
      setenv("http_proxy", "http://user:s3cret@127.0.0.1:99999", 1)
      let observer = RecordingObserver()
      let tap = URLSessionTap(observers: [observer])
      let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "test"))
      _ = try? await session.data(from: try #require(URL(string: "http://a.test/")))
      tap.flush()
      try await observer.waitForEnds(1)
      let message = observer.ended.first?.errorMessage ?? ""
      print(message)
      exit(message.contains("99999") && !message.contains("user") && !message.contains("s3cret") ? 0 : 1)
    }
  }

  /// Foundation decodes such a host, and takes it for one.
  @Test func `userinfo in place of a host is neither an address nor in a message`() async throws {
    let observer = RecordingObserver()
    let tap = URLSessionTap(observers: [observer])
    let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "test"))
    _ = try? await session.data(from: try #require(URL(string: "http://user%3As3cret%40host.invalid/")))
    tap.flush()
    try await observer.waitForEnds(1)
    let ended = try #require(observer.ended.first)
    #expect(ended.request.serverAddress == nil)
    #expect(ended.errorMessage?.contains("s3cret") == false, "\(ended.errorMessage ?? "")")
  }

  /// The words of libcurl where a stream of HTTP/2 is cut (`on_stream_close` and `http2_handle_stream_close` in its `http2.c`,
  /// `curl_easy_strerror`).
  @Test(
    arguments: [
      "HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)",
      "HTTP/2 stream 3 was not closed cleanly before end of the underlying stream",
      "HTTP/2 stream 1 was reset", "Stream error in the HTTP/2 framing layer",
    ])
  func `a cut by HTTP/2 is a lost connection`(message: String) {
    #expect(RequestErrorType(curlMessage: message) == .connectionLost)
  }

  /// Makes the exchange stock and tapped.
  static func expect(_ type: RequestErrorType, _ exchange: Exchange) async throws {
    func configuration() -> URLSessionConfiguration {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.protocolClasses = [FailingProtocol.self] + (configuration.protocolClasses ?? [])
      return configuration
    }
    let observer = RecordingObserver()
    let tap = URLSessionTap(observers: [observer])
    let stock = try await exchange.run(configuration())
    let tapped = try await exchange.run(tap.sessionConfiguration(from: configuration(), client: "test"))
    #expect(stock.error != nil)
    #expect(tapped == stock)
    try await observer.waitForEnds(1)
    let types = observer.ended.map { observation -> RequestErrorType? in
      if case .failure(let type, _) = observation.end { type } else { nil }
    }
    #expect(types == [type], "\(stock.error ?? "")")
    // Without a head nothing has come.
    let observation = try #require(observer.ended.first)
    if observation.end.statusCode == nil { #expect(observation.responseBodySize == nil) }
  }
}
