import TapEndpoint
import TestStart
import TestSupport

/// The places of requests: the end of a request frees its place, and scrapes and probes have room of their
/// own.
@Suite struct RequestPlaceTests {
  /// A handler that returns when the test lets it, and not when it is cancelled.
  private final class StuckHandler: Sendable {
    private let waiting = Mutex<[@Sendable () -> Void]>([])
    private let started = EventQueue<Void>()
    private let cancelled = EventQueue<Void>()

    var route: EndpointRoute {
      EndpointRoute(
        "/stuck",
        .deferred { [self] _, complete in
          waiting.withLock { $0.append { complete(.text("late")) } }
          started.send()
          return { [cancelled] in cancelled.send() }
        })
    }

    func waitForStart() async throws { try await started.next("the start of a handler") }

    func waitForCancel() async throws { try await cancelled.next("the cancel of a handler") }

    func releaseFirst() {
      let complete = waiting.withLock { $0.removeFirst() }
      complete()
    }

    func releaseAll() {
      let waiting = waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
      for complete in waiting { complete() }
    }

    /// Starts requests, and waits until their handlers work.
    func hang(_ count: Int, _ port: Int) async throws -> [RawClient] {
      var clients: [RawClient] = []
      for _ in 0..<count {
        let client = try RawClient(port: port, asking: "/stuck")
        clients.append(client)
        try await waitForStart()
      }
      return clients
    }
  }

  private static func room(
    for requests: Int, _ deadline: Duration = .seconds(3600)
  ) -> (inout Endpoint.Configuration.Limits) -> Void {
    { ($0.requestsInFlight, $0.answerTimeout) = (requests, deadline) }
  }

  /// Few connections leave room too, however many requests may be in flight.
  @Test(arguments: [(connections: 512, requests: 3, hanging: 3), (8, 256, 4)])
  func `hanging requests leave room to others`(connections: Int, requests: Int, hanging: Int) async throws {
    let stuck = StuckHandler()
    defer { stuck.releaseAll() }
    let routes = [try EndpointRoute.metrics(of: Registry()), .liveness(), stuck.route]
    try await withEndpoint(
      routes: routes, limits: { ($0.connections, $0.requestsInFlight) = (connections, requests) }
    ) { port in
      var clients = try await stuck.hang(hanging, port)
      for _ in 0..<8 {
        let client = try RawClient(port: port, asking: "/stuck")
        let answer = await client.receive(until: "answered\n")
        #expect(answer.hasSuffix("\r\n\r\n503 Service Unavailable: too many requests are being answered\n"))
        clients.append(client)
      }
      #expect(try await RawClient.status("/metrics", port: port) == "200")
      #expect(try await RawClient.status("/healthz", port: port) == "200")
    }
  }

  @Test(arguments: [true, false])
  func `the end of a request frees its place`(byDeadline: Bool) async throws {
    let stuck = StuckHandler()
    defer { stuck.releaseAll() }
    try await withEndpoint(
      routes: [stuck.route], limits: Self.room(for: 2, byDeadline ? .milliseconds(100) : .seconds(3600))
    ) { port in
      for _ in 0..<3 {
        for client in try await stuck.hang(1, port) + stuck.hang(1, port) {
          if byDeadline {
            #expect(await client.receive(until: "took too long\n").hasPrefix("HTTP/1.1 503 "))
          } else {
            client.reset()
          }
          try await stuck.waitForCancel()
        }
      }
    }
  }

  /// The bytes and the reset are one event for the endpoint, whose queue is held up until both have arrived.
  @Test func `a reset behind bytes frees the place`() async throws {
    let stuck = StuckHandler()
    let gate = Gate()
    defer {
      gate.open()
      stuck.releaseAll()
    }
    let held = EventQueue<Void>()
    let hold = EndpointRoute.immediate("/hold") { _ in
      held.send()
      gate.waitBlocking()
      return .text("held\n")
    }
    try await withEndpoint(routes: [stuck.route, hold], limits: Self.room(for: 1)) { port in
      let clients = try await stuck.hang(1, port)
      let holder = try RawClient(port: port, asking: "/hold")
      try await held.next("the handler that holds the queue")
      clients[0].send("GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n")
      clients[0].reset()
      gate.open()
      try await stuck.waitForCancel()
      #expect(await holder.receive(until: "held\n").hasSuffix("held\n"))
      withExtendedLifetime(try await stuck.hang(1, port)) {}
    }
  }

  /// What ends late must not free a second place.
  @Test func `a handler that ends late frees nothing`() async throws {
    let stuck = StuckHandler()
    defer { stuck.releaseAll() }
    try await withEndpoint(routes: [stuck.route], limits: Self.room(for: 2)) { port in
      for client in try await stuck.hang(2, port) {
        client.reset()
        try await stuck.waitForCancel()
      }
      stuck.releaseAll()
      let clients = try await stuck.hang(2, port)
      #expect(try await RawClient.status("/stuck", port: port) == "503")
      withExtendedLifetime(clients) {}
    }
  }

  @Test func `a handler that ends late leaves its connection's next request alone`() async throws {
    let stuck = StuckHandler()
    defer { stuck.releaseAll() }
    let registry = Registry()
    func late() -> Double? { registry.value(of: "session_tap_overdue_handlers", labels: ["path": "/stuck"]) }
    try await withEndpoint(
      routes: [.liveness(), stuck.route], limits: Self.room(for: 1), registry: registry
    ) { port in
      let client = try RawClient(port: port)
      let field = "X-Prometheus-Scrape-Timeout-Seconds: 0.06"
      client.send("GET /stuck HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n\r\n")
      try await stuck.waitForStart()
      #expect(await client.receive(until: "too long\n").hasPrefix("HTTP/1.1 503 "))
      try await stuck.waitForCancel()
      client.send("GET /stuck HTTP/1.1\r\nHost: localhost\r\n\r\n")
      try await stuck.waitForStart()
      stuck.releaseFirst()
      #expect(try await RawClient.status("/healthz", port: port) == "200")
      try #require(late() == 0)
      #expect(try await RawClient.status("/stuck", port: port) == "503")
      stuck.releaseAll()
      #expect(await client.receive(until: "late").hasPrefix("HTTP/1.1 200 "))
    }
  }

  /// Clients that go, or whose time is over, leave handlers behind that never return.
  @Test func `of a route no more handlers live than four times the requests in flight`() async throws {
    let stuck = StuckHandler()
    defer { stuck.releaseAll() }
    let registry = Registry()
    let routes = [stuck.route, EndpointRoute.onThreads("/other") { _ in .text("fine\n") }]
    func late() -> Double? { registry.value(of: "session_tap_overdue_handlers", labels: ["path": "/stuck"]) }
    try await withEndpoint(routes: routes, limits: Self.room(for: 2), registry: registry) { port in
      #expect(late() == nil)
      for _ in 0..<8 {
        for client in try await stuck.hang(1, port) { client.reset() }
        try await stuck.waitForCancel()
      }
      #expect(late() == 8)
      let text = registry.exposition(in: .text, names: ["session_tap_overdue_handlers"]).text
      #expect(
        text.split(separator: "\n").map(String.init) == [
          "# HELP session_tap_overdue_handlers Handlers of routes that run although their request is over: "
            + "its deadline has passed, or its client is gone.",
          "# TYPE session_tap_overdue_handlers gauge",
          "session_tap_overdue_handlers{path=\"/stuck\"} 8",
        ])
      for _ in 0..<20 {
        let answer = try await RawClient.get("/stuck", port: port)
        #expect(answer.hasPrefix("HTTP/1.1 503 "))
        #expect(answer.hasSuffix("too many handlers of this path have not returned\n"))
      }
      #expect(try await RawClient.status("/other", port: port) == "200")
      #expect(late() == 8)
      stuck.releaseAll()
      try await Poll.until("the return of the handlers") { late() == 0 }
      withExtendedLifetime(try await stuck.hang(2, port)) {}
    }
  }

  /// Where they hold up Swift's threads, nothing here goes on.
  @Test func `handlers that block hold up neither a probe nor Swift's threads`() async {
    await #expect(processExitsWith: .success) {
      let begun = DispatchSemaphore(value: 0)
      let route = EndpointRoute.onThreads("/blocked") { _ in
        begun.signal()
        Gate().waitBlocking()
        return .text("late")
      }
      let endpoint = Endpoint(
        configuration: .init(address: .loopback(port: 0)), routes: [.liveness(), route])
      let port = try endpoint.start().port ?? 0
      let clients = try (0..<8).map { _ in try RawClient(port: port) }
      for client in clients { client.send("GET /blocked HTTP/1.1\r\nHost: localhost\r\n\r\n") }
      for _ in clients { begun.wait() }
      await Task {}.value
      #expect(try await RawClient.status("/healthz", port: port) == "200")
      exit(0)
    }
  }

  @Test func `further handlers wait for those that block, and other routes do not`() async throws {
    let begun = EventQueue<Void>()
    let end = Gate()
    defer { end.open() }
    let running = Atomic(0)
    let most = Atomic(0)
    let route = EndpointRoute.onThreads("/blocked") { _ in
      most.max(running.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
      begun.send()
      end.waitBlocking()
      running.subtract(1, ordering: .relaxed)
      return .text("done;")
    }
    try await withEndpoint(routes: [route, EndpointRoute.onThreads("/other") { _ in .text("fine\n") }]) {
      port in
      let clients = try (0..<40).map { _ in try RawClient(port: port) }
      for client in clients { client.send("GET /blocked HTTP/1.1\r\nHost: localhost\r\n\r\n") }
      for _ in 0..<16 { try await begun.next("a handler") }
      #expect(try await RawClient.status("/other", port: port) == "200")
      end.open()
      for client in clients { #expect(await client.receive(until: "done;").hasPrefix("HTTP/1.1 200 ")) }
      #expect(most.load(ordering: .relaxed) == 16)
    }
  }

  @Test func `a pipelined request takes the place of the one before`() async throws {
    let route = EndpointRoute.onThreads("/") { _ in .text("done;") }
    try await withEndpoint(routes: [route], limits: { $0.requestsInFlight = 1 }) { port in
      let client = try RawClient(port: port)
      client.send(String(repeating: "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 50))
      let text = await client.receive(until: "done;", times: 50)
      #expect(text.split(separator: "HTTP/1.1 200 ").count == 50)
    }
  }

  @Test func `another route has its places though scrapes hang`() async throws {
    let registry = Registry()
    let collector = StuckCollector()
    try registry.register(collector)
    defer { collector.gate.open() }
    let routes = [
      try EndpointRoute.metrics(of: registry), .liveness(), .onThreads("/app") { _ in .text("fine\n") },
    ]
    try await withEndpoint(routes: routes, limits: { $0.connections = 8 }) { port in
      let heads = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<3 {
          let client = try RawClient(port: port, asking: "/metrics")
          group.addTask { await client.receive(until: "\r\n\r\n") }
        }
        // A quarter of the connections is for scrapes. A further one is refused at once, the others wait.
        var heads = [try await group.next() ?? ""]
        let begin = ContinuousClock.now
        #expect(try await RawClient.status("/app", port: port) == "200")
        #expect(try await RawClient.status("/healthz", port: port) == "200")
        let refusal = try await RawClient.get("/metrics", port: port)
        #expect(refusal.hasSuffix("503 Service Unavailable: too many scrapes are being answered\n"))
        let held = begin.duration(to: .now) / Duration.seconds(1)
        collector.gate.open()
        for try await head in group { heads.append(head) }
        #expect(registry.value(of: "session_tap_scrape_duration_seconds_sum") ?? 0 >= 2 * held)
        return heads
      }
      #expect(heads.map { $0.dropFirst(9).prefix(3) } == ["503", "200", "200"])
      let count = try await RawClient.get("/metrics?name[]=session_tap_scrapes_total", port: port)
      #expect(count.contains("session_tap_scrapes_total{code=\"503\"} 2\n"))
      #expect(count.contains(#"session_tap_scrapes_total{code="200",format="text"} 2"#))
    }
  }

  @Test func `a scrape whose time is over is counted, and its handler until it returns`() async throws {
    let registry = Registry()
    let collector = StuckCollector()
    try registry.register(collector)
    let routes = [try EndpointRoute.metrics(of: registry)]
    // Another registry, whose values can be read meanwhile.
    let other = Registry()
    func late() -> Double? {
      other.value(of: "session_tap_overdue_handlers", labels: ["path": "/metrics"])
    }
    try await withEndpoint(
      routes: routes, limits: { $0.answerTimeout = .milliseconds(50) }, registry: other
    ) { port in
      #expect(try await RawClient.status("/metrics", port: port) == "503")
      // Counted behind the answer.
      try await Poll.until("the count of the handler") { late() == 1 }
      collector.gate.open()
      try await Poll.until("the end of the handler") { late() == 0 }
      #expect(registry.value(of: "session_tap_scrapes_total", labels: ["code": "503"]) == 1)
      #expect(registry.value(of: "session_tap_scrapes_in_flight") == 0)
      // It had all of its time.
      #expect(registry.value(of: "session_tap_scrape_duration_seconds_sum") ?? 0 >= 0.05)
    }
  }

  @Test(.needs(.program))
  func `a scrape for which there is no thread is refused at once, and the next one is served`() async {
    await #expect(processExitsWith: .success) {
      let registry = Registry()
      let routes = [try EndpointRoute.metrics(of: registry), .onThreads("/app") { _ in .text("fine\n") }]
      // None of them waits for the deadline.
      try await withEndpoint(routes: routes, limits: { $0.answerTimeout = .seconds(3_600) }) { port in
        #expect(try await RawClient.status("/metrics", port: port) == "200")
        refuse_threads(-1)
        // The thread of the first may not have ended.
        let text = try await Poll.until("a refusal") {
          let answer = try await RawClient.get("/metrics", port: port)
          return answer.hasPrefix("HTTP/1.1 503 ") ? answer : nil
        }
        #expect(text.hasSuffix("503 Service Unavailable: the system has no thread for the scrape\n"))
        let other = try await RawClient.get("/app", port: port)
        #expect(other.hasSuffix("503 Service Unavailable: the system has no thread for the answer\n"))
        refuse_threads(0)
        #expect(try await RawClient.status("/app", port: port) == "200")
        #expect(try await RawClient.status("/metrics", port: port) == "200")
        #expect(registry.value(of: "session_tap_scrapes_total", labels: ["code": "503"]) == 1)
      }
    }
  }
}
