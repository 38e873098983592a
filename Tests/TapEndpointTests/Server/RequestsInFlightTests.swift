import TapEndpoint
import TestStart
import TestSupport

/// The end of a request makes room for another, and scrapes and probes have room of their own.
@Suite struct RequestsInFlightTests {
  private typealias Limits = Endpoint.Configuration.Limits

  /// A handler that answers when the test lets it.
  private final class StuckHandler: Sendable {
    private let answers = Mutex<[@Sendable () -> Void]>([])
    private let started = EventQueue<Void>()
    let registry = Registry()

    var route: EndpointRoute {
      EndpointRoute(
        "/stuck",
        .deferred { [self] _, complete in
          answers.withLock { $0.append { complete(.text("late")) } }
          started.send()
        })
    }

    func waitForStart() async throws { try await started.next("the start of a handler") }

    /// Those that outlive their requests.
    var overdue: Double? {
      registry.value(of: "session_tap_overdue_handlers", labels: ["path": "/stuck"])
    }

    func wait(untilOverdue count: Double) async throws {
      try await Poll.until("\(count) overdue handlers") { overdue == count }
    }

    func release(_ count: Int = .max) {
      let released = answers.withLock { answers in
        defer { answers = Array(answers.dropFirst(count)) }
        return answers.prefix(count)
      }
      for complete in released { complete() }
    }

    /// Starts requests, and waits until their handlers work.
    func hang(_ count: Int, _ port: Int) async throws -> [RawClient] {
      var clients: [RawClient] = []
      for _ in 0..<count {
        clients.append(try RawClient(port: port, asking: "/stuck"))
        try await waitForStart()
      }
      return clients
    }
  }

  /// An endpoint with a route that is stuck, and others.
  private static func withStuck(
    _ others: [EndpointRoute] = [], limits: (inout Limits) -> Void,
    _ body: (StuckHandler, _ port: Int) async throws -> Void
  ) async throws {
    let stuck = StuckHandler()
    defer { stuck.release() }
    try await withEndpoint(routes: [stuck.route] + others, limits: limits, registry: stuck.registry) { port in
      try await body(stuck, port)
    }
  }

  private static func inFlight(
    _ count: Int, _ timeout: Duration = .seconds(3600)
  ) -> (inout Limits) -> Void {
    { ($0.requestsInFlight, $0.answerTimeout) = (count, timeout) }
  }

  private static let fine = { @Sendable (_: EndpointRequest) in EndpointResponse.text("fine\n") }

  /// Few connections leave room too, however many requests may be in flight.
  @Test(arguments: [(connections: 512, requests: 3, hanging: 3), (8, 256, 4)])
  func `hanging requests leave room to others`(connections: Int, requests: Int, hanging: Int) async throws {
    let others = [try EndpointRoute.metrics(of: Registry()), .liveness()]
    try await Self.withStuck(
      others, limits: { ($0.connections, $0.requestsInFlight) = (connections, requests) }
    ) { stuck, port in
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
  func `the end of a request makes room for another`(byDeadline: Bool) async throws {
    let limits = Self.inFlight(2, byDeadline ? .milliseconds(100) : .seconds(3600))
    try await Self.withStuck(limits: limits) { stuck, port in
      var overdue = 0.0
      for _ in 0..<3 {
        for client in try await stuck.hang(1, port) + stuck.hang(1, port) {
          if byDeadline {
            #expect(await client.receive(until: "took too long\n").hasPrefix("HTTP/1.1 503 "))
          } else {
            client.reset()
          }
          overdue += 1
        }
        try await stuck.wait(untilOverdue: overdue)
      }
      let clients = try await stuck.hang(2, port)
      // What ends late neither makes room again nor is an answer to another request.
      stuck.release(6)
      // Where there is a deadline, the new ones are soon over it too.
      if !byDeadline { try await stuck.wait(untilOverdue: 0) }
      #expect(try await RawClient.status("/stuck", port: port) == "503")
      stuck.release()
      for client in clients where !byDeadline {
        #expect(await client.receive(until: "late").hasPrefix("HTTP/1.1 200 "))
      }
    }
  }

  /// The bytes and the reset are one event for the endpoint, whose queue waits until both have arrived.
  @Test func `a reset behind bytes makes room`() async throws {
    let (gate, waits) = (Gate(), Gate())
    defer { gate.open() }
    let wait = EndpointRoute.immediate("/wait") { _ in
      waits.open()
      gate.waitBlocking()
      return .text("fine\n")
    }
    try await Self.withStuck([wait], limits: Self.inFlight(1)) { stuck, port in
      let clients = try await stuck.hang(1, port)
      let other = try RawClient(port: port, asking: "/wait")
      try await waits.wait("the handler that blocks the queue")
      clients[0].send("GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n")
      clients[0].reset()
      gate.open()
      try await stuck.wait(untilOverdue: 1)
      #expect(await other.receive(until: "fine\n").hasSuffix("fine\n"))
      withExtendedLifetime(try await stuck.hang(1, port)) {}
    }
  }

  /// Clients that go, or whose time is over, leave handlers behind that never return.
  @Test func `of a route no more handlers live than four times the requests in flight`() async throws {
    let other = EndpointRoute.onThreads("/other", Self.fine)
    try await Self.withStuck([other], limits: Self.inFlight(2)) { stuck, port in
      #expect(stuck.overdue == nil)
      for number in 1...8 {
        for client in try await stuck.hang(1, port) { client.reset() }
        try await stuck.wait(untilOverdue: Double(number))
      }
      let lines = [
        "# HELP session_tap_overdue_handlers Handlers of routes that run although their request is over: "
          + "its deadline has passed, or its client is gone.",
        "# TYPE session_tap_overdue_handlers gauge", #"session_tap_overdue_handlers{path="/stuck"} 8"#,
      ]
      #expect(stuck.registry.lines == lines)
      for _ in 0..<20 {
        let answer = try await RawClient.get("/stuck", port: port)
        #expect(
          answer.hasSuffix("503 Service Unavailable: too many handlers of this path have not returned\n"))
      }
      #expect(try await RawClient.status("/other", port: port) == "200")
      #expect(stuck.overdue == 8)
      stuck.release()
      try await stuck.wait(untilOverdue: 0)
      withExtendedLifetime(try await stuck.hang(2, port)) {}
    }
  }

  /// On Swift's threads fewer would begin.
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
    try await withEndpoint(routes: [route, .onThreads("/other", Self.fine)]) { port in
      let clients = try (0..<40).map { _ in try RawClient(port: port, asking: "/blocked") }
      for _ in 0..<16 { try await begun.next("a handler") }
      #expect(try await RawClient.status("/other", port: port) == "200")
      end.open()
      for client in clients { #expect(await client.receive(until: "done;").hasPrefix("HTTP/1.1 200 ")) }
      let count = most.load(ordering: .relaxed)
      #expect(count == 16)
    }
  }

  // MARK: Scrapes

  /// A collector that does not return before the gate is open, but for the look at it when it is registered.
  private final class StuckCollector: Collector {
    let gate = Gate()
    private let isRegistered = Atomic(false)

    func collect() -> [MetricFamily] {
      if isRegistered.exchange(true, ordering: .relaxed) { gate.waitBlocking() }
      return [MetricFamily(name: "stuck", help: "Stuck.", kind: .gauge, samples: [.init(value: 1)])]
    }
  }

  @Test func `another route has room though scrapes hang`() async throws {
    let registry = Registry()
    let collector = StuckCollector()
    try registry.register(collector)
    defer { collector.gate.open() }
    let routes = [try EndpointRoute.metrics(of: registry), .liveness(), .onThreads("/app", Self.fine)]
    try await withEndpoint(routes: routes, limits: { $0.connections = 8 }) { port in
      let statuses = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<3 {
          let client = try RawClient(port: port, asking: "/metrics")
          group.addTask { String(await client.receive(until: "\r\n\r\n").dropFirst(9).prefix(3)) }
        }
        // A quarter of the connections is for scrapes. A further one is refused at once, the others wait.
        var statuses = [try await group.next() ?? ""]
        let begin = ContinuousClock.now
        #expect(try await RawClient.status("/app", port: port) == "200")
        #expect(try await RawClient.status("/healthz", port: port) == "200")
        let refusal = try await RawClient.get("/metrics", port: port)
        #expect(refusal.hasSuffix("503 Service Unavailable: too many scrapes are being answered\n"))
        let time = begin.duration(to: .now) / Duration.seconds(1)
        collector.gate.open()
        for try await status in group { statuses.append(status) }
        #expect(registry.value(of: "session_tap_scrape_duration_seconds_sum") ?? 0 >= 2 * time)
        return statuses
      }
      #expect(statuses == ["503", "200", "200"])
      let count = try await RawClient.get("/metrics?name[]=session_tap_scrapes_total", port: port)
      #expect(count.contains("session_tap_scrapes_total{code=\"503\"} 2\n"))
      #expect(count.contains(#"session_tap_scrapes_total{code="200",format="text"} 2"#))
    }
  }

  @Test func `a scrape whose time is over is counted, and its handler until it returns`() async throws {
    let registry = Registry()
    let collector = StuckCollector()
    try registry.register(collector)
    // Another registry, whose values can be read meanwhile.
    let other = Registry()
    func wait(untilOverdue count: Double) async throws {
      try await Poll.until("\(count) overdue handlers") {
        other.value(of: "session_tap_overdue_handlers", labels: ["path": "/metrics"]) == count
      }
    }
    try await withEndpoint(
      routes: [try .metrics(of: registry)], limits: { $0.answerTimeout = .milliseconds(50) }, registry: other
    ) { port in
      #expect(try await RawClient.status("/metrics", port: port) == "503")
      try await wait(untilOverdue: 1)
      collector.gate.open()
      try await wait(untilOverdue: 0)
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
      let routes = [try EndpointRoute.metrics(of: registry), .onThreads("/app", Self.fine)]
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
