import TestSupport

@testable import TapEndpoint

@Suite struct UnsentBytesTests {
  /// A body that no socket takes whole.
  private static let large = 16_000_000
  /// Answers with one of its own each time.
  private static let route = EndpointRoute.immediate("/large") { _ in
    EndpointResponse(body: [UInt8](repeating: 0, count: large))
  }

  private static func limits(_ bytes: Int) -> (inout Endpoint.Configuration.Limits) -> Void {
    { ($0.unsentBytes, $0.writeTimeout) = (bytes, .seconds(3600)) }
  }

  private static func request(_ path: String, _ port: Int) async throws -> (RawClient, status: String) {
    let client = try RawClient(port: port, receiveBuffer: 4096, asking: path)
    return (client, String(await client.receive(until: "HTTP/1.1 ").dropFirst(9).prefix(3)))
  }

  @Test func `beyond the limit there are no further bodies until one is gone`() async throws {
    try await withEndpoint(routes: [.liveness(), Self.route], limits: Self.limits(3 * Self.large)) { port in
      var clients: [RawClient] = []
      for status in ["200", "200", "200", "503"] {
        let (client, got) = try await Self.request("/large", port)
        #expect(got == status)
        clients.append(client)
      }
      #expect(try await RawClient.get("/healthz", port: port).hasSuffix("ok\n"))
      clients.removeFirst().reset()
      try await Poll.until("the place of the one that is gone") {
        let (client, status) = try await Self.request("/large", port)
        clients.append(client)
        return status == "200"
      }
    }
  }

  @Test func `a body that connections share counts once`() async throws {
    let body = [UInt8](repeating: 0, count: Self.large)
    let route = EndpointRoute.immediate("/shared") { _ in EndpointResponse(body: body) }
    try await withEndpoint(routes: [route, Self.route], limits: Self.limits(2 * Self.large)) { port in
      var clients: [RawClient] = []
      // Beside it there is room for one other.
      let shared = Array(repeating: ("/shared", "200"), count: 5)
      for (path, expected) in shared + [("/large", "200"), ("/large", "503"), ("/shared", "200")] {
        let (client, status) = try await Self.request(path, port)
        #expect(status == expected, "\(path)")
        clients.append(client)
      }
      withExtendedLifetime(clients) {}
    }
  }

  @Test func `a body that is read takes no room, though its connection stays`() async throws {
    let route = EndpointRoute.immediate("/") { _ in
      EndpointResponse(body: [UInt8](repeating: 0, count: 100_000) + Array("end;".utf8))
    }
    try await withEndpoint(routes: [route, Self.route], limits: Self.limits(0)) { port in
      let client = try RawClient(port: port)
      client.send(String(repeating: "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 3))
      let text = await client.receive(until: "end;", times: 3)
      #expect(text.ranges(of: "HTTP/1.1 200 ").count == 3)
      let (other, status) = try await Self.request("/large", port)
      #expect(status == "200")
      withExtendedLifetime((client, other)) {}
    }
  }

  @Test func `a body of 16 KiB takes no room`() {
    #expect(!UnsentBytes.keeps([UInt8](repeating: 0, count: 16_384)))
    #expect(UnsentBytes.keeps([UInt8](repeating: 0, count: 16_385)))
  }

  @Test func `a shared body takes room until the last connection has sent it`() throws {
    let (shared, other) = ([UInt8](repeating: 1, count: 10), [UInt8](repeating: 2, count: 10))
    var bodies = UnsentBodies()
    let added = bodies.add(shared, limit: 19)
    let id = try #require(added)
    #expect(bodies.add(shared, limit: 19) == id)
    #expect(bodies.add(other, limit: 19) == nil)
    bodies.remove(id)
    #expect(bodies.add(other, limit: 19) == nil)
    #expect(bodies.add(other, limit: 20) != nil)
    bodies.remove(id)
    bodies.remove(id)
    #expect(bodies.add(shared, limit: 19) == nil)
    #expect(bodies.add(shared, limit: 20) != nil)
  }

  @Test func `a scrape that is not sent is counted, and has room though others are not read`() async throws {
    let registry = Registry()
    try registry.register(LargeCollector())
    let routes = [try EndpointRoute.metrics(of: registry), Self.route]
    let lines = EventQueue<String>()
    try await withEndpoint(
      routes: routes, limits: Self.limits(0), logRefusal: { lines.send($0) }
    ) { port in
      let (other, status) = try await Self.request("/large", port)
      #expect(status == "200")
      let (scraper, first) = try await Self.request("/metrics", port)
      #expect(first == "200")
      let refusal = try await RawClient.get("/metrics", port: port)
      #expect(refusal.hasPrefix("HTTP/1.1 503 "))
      #expect(refusal.hasSuffix(": clients have not read 0 bytes of other answers\n"))
      let line = try await lines.next("a refusal")
      #expect(line.hasSuffix(": 503 clients have not read 0 bytes of other answers"))
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
