import TestSupport

@testable import TapEndpoint

@Suite struct UnsentBytesTests {
  @Test func `forgets what was sent`() {
    for size in [0, 2, 16_384, 50_000] {
      for step in [1, 7, 100, 20_000] {
        let (head, body) = ([UInt8](arrayLiteral: 1, 2, 3), [UInt8](repeating: 4, count: size))
        var unsent = UnsentBytes(head: head, body: body)
        var sent: [UInt8] = []
        while !unsent.isEmpty, sent.count < 60_000 {
          let bytes = unsent.withNext { Array($0.prefix(step)) }
          sent += bytes
          unsent.removeFirst(bytes.count)
        }
        expectEqual(sent, head + body)
      }
    }
  }

  @Test func `a body of 16 KiB takes no room`() {
    #expect([16_384, 16_385].map { UnsentBytes.keeps([UInt8](repeating: 0, count: $0)) } == [false, true])
  }

  @Test func `a shared body takes room until the last connection has sent it`() throws {
    let (shared, other) = ([UInt8](repeating: 1, count: 10), [UInt8](repeating: 2, count: 10))
    var bodies = UnsentBodies()
    let added = bodies.add(shared, limit: 19)
    let id = try #require(added)
    var isAdded = [bodies.add(shared, limit: 19) == id, bodies.add(other, limit: 19) != nil]
    bodies.remove(id)
    isAdded += [19, 20].map { bodies.add(other, limit: $0) != nil }
    bodies.remove(id)
    bodies.remove(id)
    isAdded += [19, 20].map { bodies.add(shared, limit: $0) != nil }
    #expect(isAdded == [true, false, false, true, false, true])
  }

  // MARK: Over sockets

  /// A body that no socket takes whole.
  private static let large = 16_000_000
  /// Answers with one of its own each time.
  private static let route = EndpointRoute.immediate("/large") { _ in
    EndpointResponse(body: [UInt8](repeating: 0, count: large))
  }

  private static func limits(_ bytes: Int) -> (inout Endpoint.Configuration.Limits) -> Void {
    { ($0.unsentBytes, $0.writeTimeout) = (bytes, .seconds(3600)) }
  }

  /// Clients that read no more than their statuses.
  private static func statuses(
    _ paths: [String], _ port: Int
  ) async throws -> (statuses: [String], clients: [RawClient]) {
    let clients = try paths.map { _ in try RawClient(port: port, receiveBuffer: 4096) }
    var statuses: [String] = []
    for (client, path) in zip(clients, paths) {
      client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
      statuses.append(String(await client.receive(until: "HTTP/1.1 ").dropFirst(9).prefix(3)))
    }
    return (statuses, clients)
  }

  @Test func `beyond the limit there are no further bodies until one is gone, but for one that is shared`()
    async throws
  {
    let body = [UInt8](repeating: 0, count: Self.large)
    let shared = EndpointRoute.immediate("/shared") { _ in EndpointResponse(body: body) }
    try await withEndpoint(
      routes: [.liveness(), shared, Self.route], limits: Self.limits(3 * Self.large)
    ) { port in
      let paths = ["/large", "/shared", "/shared", "/shared", "/large", "/large", "/shared"]
      var (statuses, clients) = try await Self.statuses(paths, port)
      #expect(statuses == ["200", "200", "200", "200", "200", "503", "200"])
      #expect(try await RawClient.get("/healthz", port: port).hasSuffix("ok\n"))
      clients.removeFirst().reset()
      try await Poll.until("the room of the one that is gone") {
        let next = try await Self.statuses(["/large"], port)
        clients += next.clients
        return next.statuses == ["200"]
      }
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
      let (statuses, clients) = try await Self.statuses(["/large"], port)
      #expect(statuses == ["200"])
      withExtendedLifetime((client, clients)) {}
    }
  }

  /// A family that no socket takes whole.
  private struct LargeCollector: Collector {
    func collect() -> [MetricFamily] {
      let help = String(repeating: "x", count: large)
      return [MetricFamily(name: "large", help: help, kind: .gauge, samples: [.init(value: 1)])]
    }
  }

  @Test func `a scrape that is not sent is counted, and has room though others are not read`() async throws {
    let registry = Registry()
    try registry.register(LargeCollector())
    let routes = [try EndpointRoute.metrics(of: registry), Self.route]
    let lines = EventQueue<String>()
    try await withEndpoint(
      routes: routes, limits: Self.limits(0), logRefusal: { lines.send($0) }
    ) { port in
      let (statuses, clients) = try await Self.statuses(["/large", "/metrics"], port)
      #expect(statuses == ["200", "200"])
      let refusal = try await RawClient.get("/metrics", port: port)
      #expect(refusal.hasSuffix("503 Service Unavailable: clients have not read 0 bytes of other answers\n"))
      let line = try await lines.next("a refusal")
      #expect(line.hasSuffix(": 503 clients have not read 0 bytes of other answers"))
      let count = try await RawClient.get("/metrics?name[]=session_tap_scrapes_total", port: port)
      #expect(count.contains(#"session_tap_scrapes_total{code="503",format="text"} 1"#))
      withExtendedLifetime(clients) {}
    }
  }
}
