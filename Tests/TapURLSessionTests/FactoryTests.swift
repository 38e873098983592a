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

  @Test func `a configuration without classes falls back to the native loader`() async throws {
    let origin = try Origin { _ in [.response(body: [7])] }
    let original = URLSessionConfiguration.ephemeral
    original.protocolClasses = []
    let (body, _) = try await tap.session(original).data(from: origin.url())
    tap.flush()
    #expect(Array(body) == [7] && observer.ended.count == 1)
  }
}
