import TapURLSession
import TestSupport

/// The configuration factory: copies, order, repetition, many taps.
@Suite struct FactoryTests {
  var (tap, observer) = URLSessionTap.observed()

  static func names(_ configuration: URLSessionConfiguration) -> [ObjectIdentifier] {
    (configuration.protocolClasses ?? []).map { ObjectIdentifier($0) }
  }

  @Test func `the original is left alone and the copy keeps its settings`() {
    let original = URLSessionConfiguration.ephemeral
    original.timeoutIntervalForRequest = 7
    original.httpAdditionalHeaders = ["X-App": "yes"]
    original.httpMaximumConnectionsPerHost = 3
    let classes = Self.names(original)
    let patched = tap.sessionConfiguration(from: original, client: "a")
    #expect(patched !== original)
    #expect(Self.names(original) == classes)
    #expect(patched.timeoutIntervalForRequest == 7)
    #expect(patched.httpAdditionalHeaders as? [String: String] == ["X-App": "yes"])
    #expect(patched.httpMaximumConnectionsPerHost == 3)
    #expect(patched.urlCache === original.urlCache)
    #expect(patched.httpCookieStorage === original.httpCookieStorage)
  }

  @Test func `other classes stay in order behind the tap`() {
    let original = URLSessionConfiguration.ephemeral(with: MockProtocol.self)
    let patched = tap.sessionConfiguration(from: original, client: "a")
    #expect(Array(Self.names(patched).dropFirst()) == Self.names(original))
  }

  @Test func `the same tap, name and classes share a class`() {
    let first = tap.sessionConfiguration(from: .ephemeral, client: "same")
    let second = tap.sessionConfiguration(from: .default, client: "same")
    #expect(Self.names(first) == Self.names(second))
    #expect(Self.names(first).first != Self.names(tap.sessionConfiguration(client: "other")).first)
  }

  @Test func `names of clients are bounded`() async throws {
    let origin = try Origin { _ in [.response()] }
    for number in 0..<256 {
      _ = tap.sessionConfiguration(from: .ephemeral, client: "client \(number)")
    }
    let beyond = tap.sessionConfiguration(from: .ephemeral, client: "one too many")
    let known = tap.sessionConfiguration(from: .ephemeral, client: "client 255")
    let call = AppCall(kind: .data, style: .async, request: URLRequest(url: origin.url()))
    _ = try await call.run(beyond)
    _ = try await call.run(known)
    tap.flush()
    #expect(observer.ended.map(\.request.client) == ["_OTHER", "client 255"])
  }

  /// Also where a URL begins like the one before.
  @Test func `the server of each request is that of its URL`() async throws {
    let origins = try (0..<2).map { _ in try Origin { _ in [.response()] } }
    let ports = origins.map(\.port)
    let urls: [(text: String, host: String?)] = [
      ("http://127.0.0.1:\(ports[0])/a", "127.0.0.1"), ("http://127.0.0.1:\(ports[0])/@b/c", "127.0.0.1"),
      ("http://127.0.0.1:\(ports[1])/a", "127.0.0.1"), ("http://LOCALHOST:\(ports[1])/a", "localhost"),
      ("http://localhost:\(ports[1])/?a/b", "localhost"), ("http://localhost:\(ports[1])?a/b", "localhost"),
      ("http://localhost:\(ports[1])?a/@b", nil), ("http://user:word@127.0.0.1:\(ports[0])/", "127.0.0.1"),
      ("http://127.0.0.1:\(ports[0])", "127.0.0.1"),
    ]
    let session = tap.session(client: "a")
    for (text, host) in urls {
      _ = try await session.data(from: #require(URL(string: text)))
      tap.flush()
      let request = try #require(observer.ended.last).request
      let port = host == nil ? nil : ports.first { text.contains(":\($0)") }
      #expect(request.serverAddress == host && request.serverPort == port, "\(text)")
    }
    session.finishTasksAndInvalidate()
  }

  @Test func `a configuration without classes falls back to the native loader`() async throws {
    let origin = try Origin { _ in [.response(body: [7])] }
    let original = URLSessionConfiguration.ephemeral
    original.protocolClasses = []
    let call = AppCall(kind: .data, style: .async, request: URLRequest(url: origin.url()))
    let transcript = try await call.run(tap.sessionConfiguration(from: original, client: "a"))
    #expect(transcript.body == [7])
    tap.flush()
    #expect(observer.ended.count == 1)
  }
}
