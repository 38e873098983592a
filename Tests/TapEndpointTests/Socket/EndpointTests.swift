import TapEndpoint
import TestSupport

@Suite struct EndpointTests {
  private static let ok = EndpointRoute.immediate("/ok") { _ in .text("fine\n") }

  @Test(arguments: [
    ("GET", "/", "404"), ("GET", "/ok", "200"), ("HEAD", "/ok", "200"), ("GET", "/ok/", "404"),
    ("POST", "/ok", "405"), ("OPTIONS", "*", "405"), ("PUT", "/nowhere", "405"), ("DELETE", "/ok", "405"),
    ("TRACE", "/ok", "405"), ("PATCH", "/ok", "405"), ("BREW", "/ok", "501"), ("CONNECT", "/ok", "501"),
    ("get", "/ok", "501"),
  ])
  func `routes`(method: String, path: String, status: String) async throws {
    // Of two with one path the first is used.
    let routes = [Self.ok, EndpointRoute.immediate("/ok") { _ in .text("other\n", status: 400) }]
    try await withEndpoint(routes: routes) { port in
      let answer = try await RawClient.get(path, port: port, method: method)
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
      #expect(answer.contains("\r\nAllow: GET, HEAD\r\n") == (status == "405"))
      let body =
        switch status {
        case "200": "fine\n"
        case "404": "404 Not Found: nothing is here; this server has /ok\n"
        case "405": "405 Method Not Allowed: this server takes GET and HEAD\n"
        default: "501 Not Implemented: unknown method\n"
        }
      let head = "\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
      #expect(answer.hasSuffix(method == "HEAD" ? head : head + body))
    }
  }

  /// What an endpoint without a tap serves.
  @Test func `serves a registry and checks`() async throws {
    let registry = Registry()
    let endpoint = try Endpoint(configuration: .init(address: .loopback(port: 0)), registry: registry)
    let port = try #require(try endpoint.start().port)
    #expect(try await RawClient.get("/healthz", port: port).hasSuffix("ok\n"))
    #expect(try await RawClient.get("/readyz", port: port).hasSuffix("\r\n\r\nready\n"))
    let metrics = try await RawClient.get("/metrics", port: port)
    #expect(metrics.contains("\nsession_tap_scrapes_in_flight 1"))
    #expect(throws: RegistryError.self) { try registry.gauge("session_tap_overdue_handlers", help: "") }
    // Another one has the same metrics.
    #expect(throws: RegistryError.self) { try Endpoint(registry: registry) }
    await endpoint.shutdown()
  }

  @Test(arguments: [true, false])
  func `passes on its checks and whether there are times of creation`(createdSamples: Bool) async throws {
    let readiness = Readiness()
    readiness.add("cache") { "cold" }
    let endpoint = try Endpoint(
      configuration: .init(address: .loopback(port: 0)), registry: Registry(), readiness: readiness,
      createdSamples: createdSamples)
    let port = try #require(try endpoint.start().port)
    #expect(try await RawClient.get("/readyz", port: port).hasSuffix("\r\n\r\nnot ready\ncache: cold\n"))
    let fields = "Accept: application/openmetrics-text\r\n"
    _ = try await RawClient.get("/metrics", port: port, fields: fields)
    let metrics = try await RawClient.get("/metrics", port: port, fields: fields)
    #expect(metrics.contains("\nsession_tap_scrapes_created{") == createdSamples)
    await endpoint.shutdown()
  }

  @Test func `dates its answers`() async throws {
    try await withEndpoint(routes: [Self.ok]) { port in
      // The date of an answer, if it is that of the time.
      func date() async throws -> String? {
        let begin = Int64(Date().timeIntervalSince1970)
        let answer = try await RawClient.get("/ok", port: port)
        return (begin...Int64(Date().timeIntervalSince1970))
          .map { String(decoding: EventTime.date(secondsSinceEpoch: $0), as: UTF8.self) }
          .first { answer.contains("\r\nDate: \($0)\r\n") }
      }
      let first = try await date()
      try #require(first != nil)
      try await Poll.until("another date") {
        let next = try await date()
        try #require(next != nil)
        return next != first
      }
    }
  }

  @Test func `answers pipelined requests in order whatever their handlers`() async throws {
    let routes: [EndpointRoute] = [
      .immediate("/now") { .text(($0.query ?? "") + ";") },
      .onThreads("/later") { .text(($0.query ?? "") + ";") },
    ]
    try await withEndpoint(routes: routes) { port in
      let client = try RawClient(port: port)
      let numbers = (0..<200).map { String($0) }
      let paths = numbers.enumerated().map { "/\($0.isMultiple(of: 3) ? "later" : "now")?\($1)" }
      client.send(paths.map { "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined())
      client.endOutput()
      let answer = await client.receiveAll().text
      let bodies = answer.split(separator: "\r\n\r\n").dropFirst().map { $0.prefix { $0 != ";" } }
      #expect(bodies.map(String.init) == numbers)
    }
  }

  @Test func `sends bodies that are larger than the socket takes`() async throws {
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: 8_000_000)
    let route = EndpointRoute.immediate("/bytes") { _ in EndpointResponse(body: body) }
    try await withEndpoint(routes: [route]) { port in
      let answer = try await RawClient.get("/bytes", port: port)
      let head = try #require(answer.firstRange(of: "\r\n\r\n"))
      #expect(answer[head.upperBound...].utf8.count == body.count)
    }
  }

  @Test func `resets a reader that does not read`() async throws {
    let large = [UInt8](repeating: 0, count: 16_000_000)
    let route = EndpointRoute.immediate("/large") { _ in EndpointResponse(body: large) }
    try await withEndpoint(routes: [route], limits: { $0.writeTimeout = .milliseconds(50) }) { port in
      let client = try RawClient(port: port, receiveBuffer: 4096, asking: "/large")
      try await Poll.until("the end of the connection") { client.hasFailed }
      #expect(await client.receiveAll().isReset)
    }
  }

  @Test func `closes the oldest idle connection for a new one`() async throws {
    try await withEndpoint(routes: [Self.ok], limits: { $0.connections = 3 }) { port in
      let clients = try (0..<3).map { _ in try RawClient(port: port) }
      for client in clients {
        client.send("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(await client.receive(until: "fine\n").hasSuffix("fine\n"))
      }
      #expect(try await RawClient.get("/ok", port: port).hasSuffix("fine\n"))
      let end = await clients[0].receiveAll()
      #expect(end.text == "" && !end.isReset)
      clients[2].send("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(await clients[2].receive(until: "fine\n").hasSuffix("fine\n"))
    }
  }

  /// A crowd that never finishes its heads does not keep newcomers out: its oldest go, however lively.
  @Test func `lets a newcomer speak among slow senders`() async throws {
    // No connection is closed for any other reason, however slow the machine is.
    try await withEndpoint(
      routes: [Self.ok], limits: { ($0.connections, $0.headTimeout) = (4, .seconds(3600)) }
    ) { port in
      var crowd: [RawClient] = []
      for _ in 0..<4 {
        let client = try RawClient(port: port)
        client.send("GET /ok HTTP/1.1\r\nHost: localhost\r\nX: ")
        crowd.append(client)
      }
      let newcomer = try RawClient(port: port)
      #expect(await crowd[0].receiveAll().text == "")
      for client in crowd.dropFirst() { client.send("x") }
      let next = try RawClient(port: port)
      #expect(await crowd[1].receiveAll().text == "")
      newcomer.send("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(await newcomer.receive(until: "fine\n").hasSuffix("fine\n"))
      next.send("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(await next.receive(until: "fine\n").hasSuffix("fine\n"))
    }
  }

  /// Idle ones first, then slow senders; never one whose request is being answered.
  @Test func `closes no connection whose handler works`() async throws {
    let (started, release) = (Gate(), Gate())
    let slow = EndpointRoute.onThreads("/slow") { _ in
      started.open()
      release.waitBlocking()
      return .text("done\n")
    }
    try await withEndpoint(
      routes: [Self.ok, slow], limits: { ($0.connections, $0.headTimeout) = (4, .seconds(3600)) }
    ) { port in
      let answering = try RawClient(port: port, asking: "/slow")
      try await started.wait("the handler")
      let sender = try RawClient(port: port)
      sender.send("GET /ok HTTP/1.1\r\nHost: localhost\r\nX: ")
      var idle: [RawClient] = []
      for _ in 0..<2 {
        let client = try RawClient(port: port, asking: "/ok")
        #expect(await client.receive(until: "fine\n").hasSuffix("fine\n"))
        idle.append(client)
      }
      var new: [RawClient] = []
      for closed in idle + [sender] {
        new.append(try RawClient(port: port))
        #expect(await closed.receiveAll().text == "")
      }
      release.open()
      #expect(await answering.receive(until: "done\n").hasSuffix("done\n"))
      withExtendedLifetime(new) {}
    }
  }
}
