import TapURLSession
import TestSupport

@Suite struct RequestFilterTests {
  @Test func `it is asked with what the request is, of any client`() async throws {
    let origin = try Origin { _ in [.response()] }
    var options = RequestConfiguration()
    options.filter = !.clients(["health"]).and(RequestFilter { $0.headers["X-Trial"] != "1" })
    let (tap, observer) = URLSessionTap.observed(options: options)
    for (client, trial) in [("health", "0"), ("shop", "1"), ("shop", "0")] {
      let session = tap.session(client: client)
      var request = URLRequest(url: origin.url("/\(client)-\(trial)"))
      request.setValue(trial, forHTTPHeaderField: "X-Trial")
      _ = try await session.data(for: request)
    }
    let outbound = tap.recorder.outbound
    outbound.begin(client: "health", method: "GET", url: "http://a.test/").end(statusCode: 200)
    outbound.begin(client: "other", method: "GET", url: "http://a.test/other").end(statusCode: 200)
    tap.flush()
    #expect(
      observer.ended.map { $0.request.url.split(separator: "/").last } == ["shop-1", "shop-0", "other"])
  }

  @Test(arguments: ["127.0.0.1", "localhost", "LOCALHOST", "127.1.2.3", "[::1]"])
  func `the endpoint of the app itself is never recorded`(host: String) async throws {
    let (tap, observer) = URLSessionTap.observed()
    let closed = try ClosedPort()
    tap.exclude(ownPort: closed.port)
    let session = tap.session(client: "a")
    _ = try? await session.data(from: #require(URL(string: "http://\(host):\(closed.port)/metrics")))
    tap.flush()
    #expect(observer.started.isEmpty)
    tap.exclude(ownPort: nil)
    _ = try? await session.data(from: #require(URL(string: "http://\(host):\(closed.port)/metrics")))
    tap.flush()
    #expect(observer.started.count == 1)
  }
}
