import TapEndpoint
import TestSupport

/// What clients get, over sockets: answers in order, refusals, and room for the next connection.
@Suite struct EventLoopTests {
  private static let ok = EndpointRoute.immediate("/ok") { _ in .text("fine\n") }
  private static let large = EndpointRoute.immediate("/large") { [body] _ in EndpointResponse(body: body) }
  /// No socket takes it whole.
  private static let body = [UInt8](repeating: UInt8(ascii: "x"), count: 16_000_000)
  private static let request = "GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n"

  private static func isServed(_ client: RawClient) async -> Bool {
    client.send(request)
    return await client.receive(until: "fine\n").hasSuffix("fine\n")
  }

  // MARK: Answers

  @Test func `routes`() async throws {
    let texts = [
      "200": "fine\n", "404": "404 Not Found: nothing is here; this server has /ok\n",
      "405": "405 Method Not Allowed: this server takes GET and HEAD\n",
      "501": "501 Not Implemented: unknown method\n",
    ]
    let requests = [
      "GET /": "404", "GET /ok": "200", "HEAD /ok": "200", "GET /ok/": "404", "POST /ok": "405",
      "OPTIONS *": "405", "PUT /nowhere": "405", "DELETE /ok": "405", "TRACE /ok": "405", "PATCH /ok": "405",
      "BREW /ok": "501", "CONNECT /ok": "501", "get /ok": "501",
    ]
    // Of two with one path the first is used.
    let routes = [Self.ok, EndpointRoute.immediate("/ok") { _ in .text("other\n", status: 400) }]
    try await withEndpoint(routes: routes) { port in
      for (request, status) in requests {
        let words = request.split(separator: " ").map(String.init)
        let answer = try await RawClient.get(words[1], port: port, method: words[0])
        let body = texts[status] ?? ""
        let end =
          "\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
          + (words[0] == "HEAD" ? "" : body)
        let isRight =
          answer.hasPrefix("HTTP/1.1 \(status) ") && answer.hasSuffix(end)
          && answer.contains("\r\nAllow: GET, HEAD\r\n") == (status == "405")
        #expect(isRight, "\(request): \(answer)")
      }
    }
  }

  @Test func `dates its answers`() async throws {
    try await withEndpoint(routes: [Self.ok]) { port in
      // The date of an answer, if it is that of the time.
      func date() async throws -> String {
        let begin = Int64(Date().timeIntervalSince1970)
        let answer = try await RawClient.get("/ok", port: port)
        let dates = (begin...Int64(Date().timeIntervalSince1970))
          .map { String(decoding: EventTime.date(secondsSinceEpoch: $0), as: UTF8.self) }
        return try #require(dates.first { answer.contains("\r\nDate: \($0)\r\n") })
      }
      let first = try await date()
      try await Poll.until("another date") { try await date() != first }
    }
  }

  @Test func `answers pipelined requests in order whatever their handlers`() async throws {
    let routes: [EndpointRoute] = [
      .immediate("/now") { .text(($0.query ?? "") + ";") },
      .onThreads("/later") { .text(($0.query ?? "") + ";") },
    ]
    try await withEndpoint(routes: routes, limits: { $0.requestsInFlight = 1 }) { port in
      let client = try RawClient(port: port)
      let numbers = (0..<200).map { String($0) }
      let paths = numbers.enumerated().map { "/\($0.isMultiple(of: 3) ? "now" : "later")?\($1)" }
      client.send(paths.map { "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined())
      client.endOutput()
      let answer = await client.receiveAll().text
      let bodies = answer.split(separator: "\r\n\r\n").dropFirst().map { $0.prefix { $0 != ";" } }
      expectEqual(bodies.map { String($0) }, numbers)
    }
  }

  @Test func `sends bodies that are larger than the socket takes`() async throws {
    try await withEndpoint(routes: [Self.large]) { port in
      let answer = try await RawClient.get("/large", port: port)
      let head = try #require(answer.firstRange(of: "\r\n\r\n"))
      #expect(answer[head.upperBound...].utf8.count == Self.body.count)
    }
  }

  // MARK: Refusals

  @Test func `tells what was refused and whose`() async throws {
    let lines = EventQueue<String>()
    let folder = try TemporaryFolder()
    var access = Endpoint.Configuration.Access()
    access.bearerTokenFile = try folder.write("token", to: "tokens")
    access.openPaths = ["/ok"]
    let calls = Atomic(0)
    let logs = EndpointRoute.immediate("/logs") { _ in
      calls.add(1, ordering: .relaxed)
      return .text("lines")
    }
    try await withEndpoint(routes: [Self.ok, logs], access: access, logRefusal: { lines.send($0) }) { port in
      _ = try await RawClient(port: port).exchange("nonsense\r\n")
      #expect(try await RawClient.status("/ok", port: port) == "200")
      let right = "Authorization: Bearer token\r\n"
      #expect(try await RawClient.status("/logs", port: port) == "401")
      #expect(try await RawClient.status("/logs", port: port, host: "evil.example", fields: right) == "421")
      for refusal in [
        "400 the first line is no request line", "401 credentials", "421 a host that is not allowed",
      ] {
        let line = try await lines.next("a refusal")
        #expect(line.hasPrefix("refused 127.0.0.1:") && line.hasSuffix(": \(refusal)"))
      }
      // No handler runs for what is refused.
      #expect(try await RawClient.get("/logs", port: port, fields: right).hasSuffix("lines"))
      let count = calls.load(ordering: .relaxed)
      #expect(count == 1)
    }
  }

  /// Those that are allowed: see `HostTextTests`.
  @Test func `takes no foreign host on the loopback, but for what is public`() async throws {
    let routes: [EndpointRoute] = [.liveness(), try .metrics(of: Registry()), Self.ok]
    try await withEndpoint(routes: routes) { port in
      var statuses: [String] = []
      for path in ["/ok", "/", "/nowhere", "/metrics", "/healthz"] {
        statuses.append(try await RawClient.status(path, port: port, host: "evil.example"))
      }
      #expect(statuses == ["421", "421", "421", "200", "200"])
      #expect(try await RawClient.status("http://evil.example/ok", port: port, host: "localhost") == "421")
      let unnamed = try await RawClient(port: port).exchange("GET /ok HTTP/1.0\r\n\r\n")
      #expect(unnamed.hasSuffix("fine\n"))
      let refusal = try await RawClient.get("/ok", port: port, host: "evil.example")
      let advice = "ask for localhost or an address of this machine, or add the host to access.allowedHosts"
      #expect(refusal.hasSuffix("\r\n\r\n421 Misdirected Request: \(advice)\n") && !refusal.contains("evil"))
    }
  }

  // MARK: Deadlines

  @Test func `resets a reader that does not read`() async throws {
    try await withEndpoint(routes: [Self.large], limits: { $0.writeTimeout = .milliseconds(50) }) { port in
      let client = try RawClient(port: port, receiveBuffer: 4096, asking: "/large")
      try await Poll.until("the end of the connection") { client.hasFailed }
      #expect(await client.receiveAll().isReset)
    }
  }

  /// In time, whatever the deadlines of others.
  @Test func `each request has a deadline of its own`() async throws {
    let stuck = EndpointRoute("/stuck", .deferred { _, _ in })
    let change: (inout Endpoint.Configuration.Limits) -> Void = {
      ($0.answerTimeout, $0.idleTimeout) = (.seconds(3_600), .seconds(3_600))
    }
    try await withEndpoint(routes: [stuck], limits: change) { port in
      let clients = try (Array(repeating: "3600", count: 4) + ["0.4", "0.06"]).map { timeout in
        let client = try RawClient(port: port)
        let field = "X-Prometheus-Scrape-Timeout-Seconds: \(timeout)"
        client.send("GET /stuck HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n\r\n")
        return client
      }
      for client in clients.suffix(2) {
        let answer = await client.receive(until: "too long\n")
        #expect(answer.hasSuffix("503 Service Unavailable: the answer took too long\n"))
      }
      withExtendedLifetime(clients) {}
    }
  }

  /// What waits behind its request is more than is read meanwhile.
  @Test func `a client that has gone is noticed though nothing is read from it`() async throws {
    let started = Gate()
    let registry = Registry()
    let stuck = EndpointRoute("/stuck", .deferred { _, _ in started.open() })
    try await withEndpoint(
      routes: [stuck], limits: { $0.answerTimeout = .seconds(3_600) }, registry: registry
    ) { port in
      let client = try RawClient(port: port, asking: "/stuck")
      try await started.wait("the handler")
      await client.sendAll(Array(String(repeating: Self.request, count: 1_000).utf8))
      client.reset()
      try await Poll.until("the end of the request") {
        registry.value(of: "session_tap_overdue_handlers", labels: ["path": "/stuck"]) == 1
      }
    }
  }

  // MARK: Room for another connection

  /// A crowd that never finishes its heads does not keep newcomers out: its oldest go, however lively.
  @Test func `lets a newcomer speak among slow senders`() async throws {
    // No connection is closed for any other reason, however slow the machine is.
    try await withEndpoint(
      routes: [Self.ok], limits: { ($0.connections, $0.headTimeout) = (4, .seconds(3600)) }
    ) { port in
      let crowd = try (0..<4).map { _ in try RawClient(port: port) }
      for client in crowd { client.send("GET /ok HTTP/1.1\r\nHost: localhost\r\nX: ") }
      let newcomer = try RawClient(port: port)
      #expect(await crowd[0].receiveAll().text == "")
      for client in crowd.dropFirst() { client.send("x") }
      let next = try RawClient(port: port)
      #expect(await crowd[1].receiveAll().text == "")
      #expect(await Self.isServed(newcomer))
      #expect(await Self.isServed(next))
    }
  }

  /// Which go first: see `ConnectionTableTests`.
  @Test func `closes no connection whose handler works`() async throws {
    let (started, release) = (Gate(), Gate())
    defer { release.open() }
    let slow = EndpointRoute.onThreads("/slow") { _ in
      started.open()
      release.waitBlocking()
      return .text("done\n")
    }
    try await withEndpoint(routes: [slow], limits: { $0.connections = 1 }) { port in
      let answering = try RawClient(port: port, asking: "/slow")
      try await started.wait("the handler")
      // The reset may come before it knows that it is connected.
      let newcomer = try? RawClient(port: port)
      let isReset = await newcomer?.receiveAll().isReset
      #expect(isReset != false)
      release.open()
      #expect(await answering.receive(until: "done\n").hasSuffix("done\n"))
    }
  }

  @Test func `a slow reader that goes for another learns that its answer is not whole`() async throws {
    try await withEndpoint(
      routes: [Self.ok, Self.large], limits: { ($0.connections, $0.writeTimeout) = (1, .seconds(3_600)) }
    ) { port in
      let reader = try RawClient(port: port, receiveBuffer: 4096, asking: "/large")
      #expect(await reader.receive(until: "HTTP/1.1 ").hasPrefix("HTTP/1.1 "))
      #expect(try await RawClient.get("/ok", port: port).hasSuffix("fine\n"))
      try await Poll.until("the end of the connection") { reader.hasFailed }
      #expect(await reader.receiveAll().isReset)
    }
  }
}
