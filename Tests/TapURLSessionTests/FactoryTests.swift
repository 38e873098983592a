import TapURLSession
import TestSupport

/// The configuration factory: copies, order, repetition, many taps.
struct FactoryTests {
  var (tap, observer) = URLSessionTap.observed()

  static func names(_ configuration: URLSessionConfiguration) -> [ObjectIdentifier] {
    (configuration.protocolClasses ?? []).map { ObjectIdentifier($0) }
  }

  @Test func `a copy keeps the settings, and has one class for a name before the others`() {
    let original = URLSessionConfiguration.ephemeral(with: MockProtocol.self)
    original.timeoutIntervalForRequest = 7
    original.httpAdditionalHeaders = ["X-App": "yes"]
    original.httpMaximumConnectionsPerHost = 3
    let classes = Self.names(original)
    let patched = tap.sessionConfiguration(from: original, client: "a")
    #expect(patched !== original && Self.names(original) == classes)
    #expect(patched.timeoutIntervalForRequest == 7 && patched.httpMaximumConnectionsPerHost == 3)
    #expect(patched.httpAdditionalHeaders as? [String: String] == ["X-App": "yes"])
    #expect(patched.urlCache === original.urlCache)
    #expect(patched.httpCookieStorage === original.httpCookieStorage)
    #expect(Array(Self.names(patched).dropFirst()) == classes)
    let first = Self.names(tap.sessionConfiguration(from: .ephemeral, client: "same"))
    #expect(first == Self.names(tap.sessionConfiguration(from: .default, client: "same")))
    #expect(first.first != Self.names(tap.sessionConfiguration(client: "other")).first)
  }

  @Test func `names of clients are bounded`() async throws {
    let origin = try Origin { _ in [.response()] }
    for number in 0..<256 {
      _ = tap.sessionConfiguration(from: .ephemeral, client: "client \(number)")
    }
    for client in ["one too many", "client 255"] {
      _ = try await tap.session(client: client).data(from: origin.url())
    }
    tap.flush()
    expectEqual(observer.ended.map(\.request.client), ["_OTHER", "client 255"])
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
    let (body, _) = try await tap.session(original).data(from: origin.url())
    tap.flush()
    #expect(Array(body) == [7] && observer.ended.count == 1)
  }
}
