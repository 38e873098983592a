import Foundation
import TapCore
import TapURLSession
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Which requests are recorded.
@Suite struct RequestFilterTests {
  @Test(
    arguments: [
      ("http://a.test/", true), ("https://B.Test:8443/x?y", true), ("http://a.test.evil/", false),
      ("http://sub.a.test/", false), ("file:///a.test", false),
    ])
  func `hosts are compared whole and without case`(url: String, isIncluded: Bool) throws {
    let filter = RequestFilter.hosts(["A.test", "b.test"])
    #expect(filter.includes(URLRequest(url: try #require(URL(string: url)))) == isIncluded)
    #expect((!filter).includes(URLRequest(url: try #require(URL(string: url)))) != isIncluded)
  }

  @Test(
    arguments: [
      ("http://a.test/api", true), ("http://a.test/api/users?x=/health", true),
      ("http://a.test/health", false),
      ("http://a.test", false),
    ])
  func `paths are compared from their beginning`(url: String, isIncluded: Bool) throws {
    let filter = RequestFilter.paths(["/api", "/v2/"])
    #expect(filter.includes(URLRequest(url: try #require(URL(string: url)))) == isIncluded)
  }

  @Test(arguments: [
    ("GET", "http://a.test/", false), ("POST", "http://a.test/", true), ("POST", "http://b.test/", false),
  ])
  func `filters combine`(method: String, url: String, isIncluded: Bool) throws {
    let filter = RequestFilter.hosts(["a.test"]).and(RequestFilter { $0.httpMethod == "POST" })
    var request = URLRequest(url: try #require(URL(string: url)))
    request.httpMethod = method
    #expect(filter.includes(request) == isIncluded)
    #expect(RequestFilter.all.includes(request))
  }

  @Test func `what is not chosen goes as if there were no tap`() async throws {
    let origin = try Origin { _ in [.response(body: [4, 2])] }
    defer { origin.stop() }
    let observer = RecordingObserver()
    var configuration = URLSessionTap.Configuration()
    configuration.filter = !.paths(["/health"])
    let tap = URLSessionTap(observers: [observer], configuration: configuration)
    let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "a"))
    let (body, _) = try await session.data(from: origin.url("/healthz"))
    _ = try await session.data(from: origin.url("/work"))
    #expect(Array(body) == [4, 2])
    tap.flush()
    #expect(observer.started.map(\.url) == ["\(origin.url("/work"))"])
    #expect(observer.ended.map(\.request.url) == ["\(origin.url("/work"))"])
  }

  @Test(arguments: ["127.0.0.1", "localhost", "LOCALHOST", "127.1.2.3", "[::1]"])
  func `the endpoint of the app itself is never recorded`(host: String) async throws {
    let observer = RecordingObserver()
    let tap = URLSessionTap(observers: [observer])
    let closed = try ClosedPort()
    tap.exclude(ownPort: closed.port)
    let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "a"))
    _ = try? await session.data(from: #require(URL(string: "http://\(host):\(closed.port)/metrics")))
    tap.flush()
    #expect(observer.started.isEmpty)
    tap.exclude(ownPort: nil)
    _ = try? await session.data(from: #require(URL(string: "http://\(host):\(closed.port)/metrics")))
    tap.flush()
    #expect(observer.started.count == 1)
    withExtendedLifetime(closed) {}
  }
}
