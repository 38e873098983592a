import TapEndpoint
import TestSupport

@Suite struct RouteTests {
  @Test func `serves the metrics of a registry`() async throws {
    let registry = Registry()
    try registry.counter("jobs_total", help: "Jobs.").increment(by: 3)
    try registry.gauge("depth", help: "Depth.").set(2)
    try await withEndpoint(routes: [.metrics(of: registry)]) { port in
      let all = try await RawClient.get("/metrics", port: port)
      #expect(all.hasPrefix("HTTP/1.1 200 OK\r\n"))
      #expect(all.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
      #expect(all.contains("\r\nVary: Accept, Accept-Encoding\r\n"))
      #expect(all.contains("\njobs_total 3"))
      #expect(all.contains("\ndepth 2"))
      // A scrape sees those before it as ended, and itself as in flight.
      #expect(all.contains("\nsession_tap_scrapes_in_flight 1"))
      #expect(!all.contains("session_tap_scrapes_total{"))
      let second = try await RawClient.get("/metrics", port: port)
      #expect(second.contains("\nsession_tap_scrapes_total{code=\"200\",format=\"text\"} 1"))
      #expect(second.contains("\nsession_tap_scrape_duration_seconds_count 1\n"))
    }
  }

  /// Several fields of a name are one list (RFC 9110, section 5.3).
  @Test(arguments: [
    ("", ExpositionFormat.text, ""),
    ("Accept: text/plain;q=0.1\r\nAccept: application/openmetrics-text\r\n", .openMetrics, ""),
    ("Accept-Encoding: identity;q=0.5\r\nAccept-Encoding: gzip\r\n", .text, "gzip"),
  ])
  func `serves metrics as the scraper asks for them`(
    fields: String, format: ExpositionFormat, coding: String
  ) async throws {
    let registry = Registry()
    try await withEndpoint(routes: [.metrics(of: registry)]) { port in
      let answer = try await RawClient.get("/metrics", port: port, fields: fields)
      let head = answer.split(separator: "\r\n").prefix { !$0.hasPrefix("Content-Length: ") }
      let lines = head.filter { !$0.hasPrefix("Date: ") }.map { String($0) }
      let codings = coding.isEmpty ? [] : ["Content-Encoding: \(coding)"]
      let expected = [
        "HTTP/1.1 200 OK", "Content-Type: \(format.contentType)", "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff", "Vary: Accept, Accept-Encoding",
      ]
      #expect(lines == expected + codings)
      let labels = ["code": "200", "format": format.rawValue]
      #expect(registry.value(of: "session_tap_scrapes_total", labels: labels) == 1)
    }
  }

  @Test func `describes the metrics of scrapes, and has times of creation if told so`() async throws {
    for createdSamples in [false, true] {
      let registry = Registry()
      let routes = [try EndpointRoute.metrics(of: registry, createdSamples: createdSamples)]
      try await withEndpoint(routes: routes) { port in
        let fields = "Accept: application/openmetrics-text\r\n"
        _ = try await RawClient.get("/metrics", port: port, fields: fields)
        let answer = try await RawClient.get("/metrics", port: port, fields: fields)
        let lines = answer.split(separator: "\n").map { String($0) }
        let expected = [
          "# HELP session_tap_scrape_duration_seconds Time from a scrape's request to its answer.",
          "# UNIT session_tap_scrape_duration_seconds seconds",
          "# HELP session_tap_scrapes Scrapes by the status of the answer: 503 if there were too many, "
            + "it took too long, or too much is unsent.",
          "# HELP session_tap_scrapes_in_flight Scrapes that wait for their answer.",
        ]
        #expect(Set(lines).isSuperset(of: expected))
        let bounds = lines.filter { $0.hasPrefix("session_tap_scrape_duration_seconds_bucket{") }
          .compactMap { line in line.split(separator: "\"").dropFirst().first.map { String($0) } }
        let seconds: [Double?] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
        #expect(bounds.dropLast().map { Double($0) } == seconds)
        #expect(bounds.last == "+Inf")
        #expect(lines.contains { $0.hasPrefix("session_tap_scrapes_created{") } == createdSamples)
      }
    }
  }

  @Test(arguments: [
    ("name[]=depth", ["depth"]), ("name%5B%5D=depth&name[]=jobs_total", ["depth", "jobs"]),
    ("name[]=jobs", ["jobs"]), ("name[]=nothing", []),
    ("name=depth", ["depth", "jobs"]), ("name[]=latency_seconds_count", ["latency"]),
  ])
  func `filters by name`(query: String, expected: [String]) async throws {
    let registry = Registry()
    _ = try registry.counter("jobs_total", help: "Jobs.")
    _ = try registry.gauge("depth", help: "Depth.")
    _ = try registry.histogram("latency_seconds", help: "Latency.")
    try await withEndpoint(routes: [.metrics(of: registry)]) { port in
      let answer = try await RawClient.get("/metrics?" + query, port: port)
      #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
      for name in expected { #expect(answer.contains("# TYPE \(name)")) }
      if query != "name=depth" { #expect(answer.split(separator: "# TYPE ").count - 1 == expected.count) }
    }
  }

  @Test func `a path that is none is answered with those that there are`() async throws {
    let routes: [EndpointRoute] = try [.metrics(of: Registry()), .readiness(Readiness())]
    try await withEndpoint(routes: routes) { port in
      let answer = try await RawClient.get("/metric", port: port)
      #expect(answer.hasPrefix("HTTP/1.1 404 "))
      #expect(answer.hasSuffix("404 Not Found: nothing is here; this server has /metrics /readyz\n"))
    }
  }

  @Test func `tells whether the app is ready`() async throws {
    let readiness = Readiness()
    try await withEndpoint(routes: [.readiness(readiness)]) { port in
      #expect(try await RawClient.get("/readyz", port: port).hasSuffix("\r\n\r\nready\n"))
      readiness.add("cache") { nil }
      readiness.add("database") { "no\nconnection" }
      let refusal = try await RawClient.get("/readyz", port: port)
      #expect(refusal.hasPrefix("HTTP/1.1 503 "))
      #expect(refusal.hasSuffix("\r\n\r\nnot ready\ncache: ok\ndatabase: no connection\n"))
      readiness.add("database") { nil }
      #expect(try await RawClient.get("/readyz", port: port).hasPrefix("HTTP/1.1 200 "))
      readiness.remove("cache")
      #expect(try await RawClient.get("/readyz", port: port).hasSuffix("\r\n\r\nready\ndatabase: ok\n"))
    }
  }

  @Test func `each check has one line of bounded length, in the order of their addition`() async {
    let readiness = Readiness()
    // One that is replaced is that of its last addition.
    readiness.add("m") { nil }
    readiness.add("z") { nil }
    readiness.add("a\nb") { String(repeating: "x", count: 1_001) }
    readiness.add("m") { "no\r\nroom" }
    let report = await readiness.report(within: .seconds(3_600))
    let reason = String(repeating: "x", count: 1_000)
    #expect(report.text == "not ready\nz: ok\na b: \(reason)\nm: no room\n")
  }

  @Test func `checks that are given together are in the order of their names`() async {
    let readiness = Readiness(
      Dictionary(uniqueKeysWithValues: "fbdace".map { (String($0), { nil } as Readiness.Check) }))
    let report = await readiness.report(within: .seconds(3_600))
    #expect(report.text == "ready\na: ok\nb: ok\nc: ok\nd: ok\ne: ok\nf: ok\n")
  }

  @Test func `a check is cancelled when its last client has left`() async throws {
    let readiness = Readiness()
    let (started, cancelled) = (Gate(), Gate())
    readiness.add("stuck") {
      started.open()
      do {
        try await Gate.waitForCancel()
        cancelled.open()
      } catch {}
      return "cancelled"
    }
    try await withEndpoint(
      routes: [.readiness(readiness)], limits: { $0.answerTimeout = .seconds(3_600) }
    ) { port in
      let client = try RawClient(port: port, asking: "/readyz")
      try await started.wait("the check")
      client.reset()
      try await cancelled.wait("the cancel")
    }
  }

  /// A check whose requests have all given up is cancelled. The next request is answered by a run of its own.
  @Test(arguments: [true, false])
  func `asks a check again after its cancel`(endsWhenCancelled: Bool) async throws {
    let readiness = Readiness()
    let runs = EventQueue<Int>()
    let count = Atomic(0)
    let released = Gate()
    readiness.add("stuck") {
      let number = count.add(1, ordering: .relaxed).newValue
      runs.send(number)
      guard number == 1 else { return nil }
      if endsWhenCancelled {
        for await _ in AsyncStream<Never>.makeStream().stream {}
      } else {
        try? await released.wait()
      }
      return "cancelled"
    }
    let first = await readiness.report(within: .milliseconds(10))
    #expect(first.text == "not ready\nstuck: has not answered\n")
    let second = Task { await readiness.report(within: .seconds(60)) }
    released.open()
    #expect(await second.value.text == "ready\nstuck: ok\n")
    let numbers = try await [runs.next("the first run"), runs.next("the second run")]
    #expect(numbers == [1, 2])
    #expect(count.load(ordering: .relaxed) == 2)
  }

  @Test func `one run answers everything that waits for it`() async throws {
    let readiness = Readiness()
    let runs = Atomic(0)
    let running = Atomic(0)
    let most = Atomic(0)
    let (started, released) = (Gate(), Gate())
    readiness.add("slow") {
      let number = runs.add(1, ordering: .relaxed).newValue
      most.max(running.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
      started.open()
      try? await released.wait()
      running.subtract(1, ordering: .relaxed)
      return "run \(number)"
    }
    let first = Task { await readiness.report(within: .seconds(3600)) }
    try await started.wait("the run")
    // Those that give up leave the run to the others.
    #expect(await readiness.report(within: .milliseconds(10)).isReady == false)
    let cancelled = Task { await readiness.report(within: .seconds(3600)) }
    cancelled.cancel()
    #expect(await cancelled.value.text.hasSuffix("has not answered\n"))
    let others = (0..<100).map { _ in Task { await readiness.report(within: .seconds(3600)) } }
    released.open()
    #expect(await first.value.text == "not ready\nslow: run 1\n")
    for report in others { #expect(await report.value.text.hasPrefix("not ready\nslow: run ")) }
    #expect(most.load(ordering: .relaxed) == 1)
  }
}

/// A collector that does not return before the gate is open, but for the look at it when it is registered.
final class StuckCollector: Collector {
  let gate = Gate()
  private let isRegistered = Atomic(false)

  func collect() -> [MetricFamily] {
    if isRegistered.exchange(true, ordering: .relaxed) { gate.waitBlocking() }
    return [MetricFamily(name: "stuck", help: "Stuck.", kind: .gauge, samples: [.init(value: 1)])]
  }
}
