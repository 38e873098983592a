import TapEndpoint
import TestSupport

/// Answers that clients do not read.
@Suite struct UnsentBytesTests {
  /// A body that no socket takes whole.
  private static let large = 16_000_000

  private static func limits(_ bytes: Int) -> Endpoint.Configuration.Limits {
    var limits = Endpoint.Configuration.Limits()
    limits.unsentBytes = bytes
    limits.writeDeadline = .seconds(3600)
    return limits
  }

  private static func request(_ path: String, _ port: Int) async throws -> (RawClient, status: String) {
    let client = try RawClient(port: port, receiveBuffer: 4096)
    client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return (client, String(await client.receive(until: "HTTP/1.1 ").dropFirst(9).prefix(3)))
  }

  @Test func `beyond the limit there are no further bodies until one is gone`() async throws {
    let route = EndpointRoute.immediate("/large") { _ in
      EndpointResponse(body: [UInt8](repeating: 0, count: Self.large))
    }
    try await withEndpoint(routes: [.liveness(), route], limits: Self.limits(3 * Self.large)) { port in
      var clients: [RawClient] = []
      for status in ["200", "200", "200", "503"] {
        let (client, got) = try await Self.request("/large", port)
        #expect(got == status)
        clients.append(client)
      }
      #expect(try await RawClient.get("/healthz", port: port).hasSuffix("ok\n"))
      clients.removeFirst().reset()
      _ = try await Poll.until("the place of the one that is gone") {
        let (client, status) = try await Self.request("/large", port)
        clients.append(client)
        return status == "200" ? true : nil
      }
    }
  }

  @Test func `a body that connections share counts once`() async throws {
    let body = [UInt8](repeating: 0, count: Self.large)
    let route = EndpointRoute.immediate("/large") { _ in EndpointResponse(body: body) }
    try await withEndpoint(routes: [route], limits: Self.limits(Self.large)) { port in
      var clients: [RawClient] = []
      for _ in 0..<5 {
        let (client, status) = try await Self.request("/large", port)
        #expect(status == "200")
        clients.append(client)
      }
      withExtendedLifetime(clients) {}
    }
  }

  @Test func `a scrape that is not sent is counted, and has room though others are not read`() async throws {
    let registry = Registry()
    try registry.register(LargeCollector())
    let route = EndpointRoute.immediate("/large") { _ in
      EndpointResponse(body: [UInt8](repeating: 0, count: Self.large))
    }
    let routes = [try EndpointRoute.metrics(of: registry), route]
    try await withEndpoint(routes: routes, limits: Self.limits(0)) { port in
      let (other, status) = try await Self.request("/large", port)
      #expect(status == "200")
      let (scraper, first) = try await Self.request("/metrics", port)
      #expect(first == "200")
      let refusal = try await RawClient.get("/metrics", port: port)
      #expect(refusal.hasPrefix("HTTP/1.1 503 "))
      #expect(refusal.hasSuffix(": clients have not read 0 bytes of other answers\n"))
      let count = try await RawClient.get("/metrics?name[]=session_tap_scrapes_total", port: port)
      #expect(count.contains(#"session_tap_scrapes_total{code="503",format="text"} 1"#))
      withExtendedLifetime((other, scraper)) {}
    }
  }
}

/// A family that no socket takes whole.
private struct LargeCollector: Collector {
  func collect() -> [MetricFamily] {
    let help = String(repeating: "x", count: 16_000_000)
    return [MetricFamily(name: "large", help: help, kind: .gauge, samples: [.init(value: 1)])]
  }
}
