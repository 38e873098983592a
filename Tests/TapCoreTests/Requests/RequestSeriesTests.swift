import TestSupport

@testable import TapCore

/// What a target remembers of its requests is what the tables have: nothing counts in a series that is gone,
/// and nothing that is gone is kept.
struct RequestSeriesTests {
  private let registry = Registry()
  private let start = Instant.now
  private let count = "http_client_request_duration_seconds_count"
  private let phases = "http_client_request_phase_duration_seconds_count"
  private let connections = "http_client_connections_opened_total"
  /// The label value of an overflow series.
  private let overflow = "true"

  private func driver(limit: Int = 2_000, idleExpiry: Duration? = nil) throws -> RequestDriver {
    try RequestDriver(registry: registry) { $0.series = .init(limit: limit, idleExpiry: idleExpiry) }
  }

  /// Written as its client, its host and perhaps its template.
  private func request(_ text: String) -> RequestDescription {
    let words = text.split(separator: " ").map(String.init)
    return RequestDescription(
      client: words[0], method: "GET", serverAddress: words[1], urlTemplate: words.dropFirst(2).first)
  }

  /// Makes requests that have these phases.
  private func run(
    _ metrics: RequestDriver, _ text: String = "c a", status: Int = 200, times: Int = 1,
    phases: [RequestTimings.Phase] = [.transfer]
  ) {
    for _ in 0..<times {
      metrics.record(request(text), .response(statusCode: status)) {
        for phase in phases { $0.timings[phase] = .milliseconds(1) }
        $0.openedConnections = 1
      }
    }
  }

  /// The samples of a name, by the values of their labels.
  private func samples(of name: String, after seconds: Int = 0) -> [String: Double] {
    let values = registry.samples(seconds, after: start).filter { $0.hasPrefix(name + "{") }.values
    let pairs = values.map { series, value in
      (series.matches(of: /"([^"]*)"/).map { String($0.1) }.joined(separator: " "), value)
    }
    return Dictionary(uniqueKeysWithValues: pairs)
  }

  /// The values of each of the three.
  private func values(after seconds: Int = 0) -> [[Double]] {
    [count, phases, connections].map { samples(of: $0, after: seconds).values.sorted() }
  }

  @Test func `what has expired begins anew while its target is in use, and what is used does not expire`()
    throws
  {
    let metrics = try driver(idleExpiry: .seconds(5))
    // Keeps the target from expiring.
    metrics.requestStarted(request("c a"))
    run(metrics, times: 3)
    #expect(values() == [[3], [3], [3]])
    #expect(values(after: 5) == [[], [], []])
    for round in 1...20 {
      run(metrics, times: 3)
      expectEqual(values(after: 2 + 4 * round), Array(repeating: [Double(3 * round)], count: 3))
    }
    // So does a phase that expires while its request's other series are in use.
    run(metrics, phases: [])
    #expect(values(after: 90) == [[61], [], [61]])
    run(metrics)
    #expect(values(after: 90) == [[62], [1], [62]])
  }

  @Test func `what found no room finds it when there is some`() throws {
    let metrics = try driver(limit: 1, idleExpiry: .seconds(5))
    metrics.requestStarted(request("c a"))
    run(metrics, phases: [.transfer, .local])
    run(metrics, status: 404, times: 3, phases: [.local])
    #expect(samples(of: count)[overflow] == 3)
    // The first one of each expires; what is used meanwhile stays where it is.
    run(metrics, status: 404, phases: [.local])
    _ = samples(of: count, after: 5)
    run(metrics, status: 404, times: 2, phases: [.local])
    #expect(samples(of: count, after: 5) == [overflow: 4, "c 404 GET 404 a": 2])
    #expect(samples(of: phases, after: 5) == [overflow: 5, "c local a": 2])
  }

  @Test(arguments: [1, 2])
  func `what is too long for a label finds its series where there is no room for another`(limit: Int) throws {
    let metrics = try driver(limit: limit)
    let long = String(repeating: "x", count: 300)
    for status in [200, 404].prefix(limit) + [200, 404].prefix(limit) {
      run(
        metrics, "\(long) \(long) \(long)", status: status, phases: Array([.transfer, .local].prefix(limit)))
    }
    expectEqual(values(), limit == 1 ? [[2], [2], [2]] : [[2, 2], [4, 4], [4]])
    expectEqual(samples(of: "session_tap_ended_requests_total").values.sorted(), [Double(2 * limit)])
  }

  @Test func `idle request targets expire, and what a client has counted stays`() throws {
    let metrics = try driver(idleExpiry: .seconds(10))
    run(metrics, "d over")
    metrics.requestStarted(request("c active"))
    let gauge = "http_client_active_requests"
    #expect(samples(of: gauge) == ["d GET over": 0, "c GET active": 1])
    #expect(values() == [[1], [1], [1]])
    let names = [gauge, "http_client_redirects_total", count, phases, connections]
    let left: [[String: Double]] = names.map { samples(of: $0, after: 10) }
    expectEqual(left, [["c GET active": 1], ["c GET active": 0], [:], [:], [:]])
    let clients = ["started", "ended"].map { samples(of: "session_tap_\($0)_requests_total", after: 20) }
    expectEqual(clients, [["c": 1, "d": 1], ["c": 0, "d": 1]])
  }

  /// OpenTelemetry, `http.client.active_requests`: `url.template` if available.
  @Test func `the gauge has the template of the begin, and the end counts there with another`() throws {
    let recorder = try RequestRecorder(registry: registry, consumers: [])
    func gauges() -> [String: Double] {
      registry.text.split(separator: "\n").map(String.init).values.filter {
        $0.key.hasPrefix("http_client_active_requests{")
      }
    }
    func name(_ template: String) -> String {
      #"http_client_active_requests{client="c",http_request_method="GET",server_address="a",server_port="80""#
        + template + "}"
    }
    let requests = [nil, "/users/{id}", "/users/{id}", "/orders"].map {
      recorder.outbound.begin(client: "c", method: "GET", url: "http://a/x", urlTemplate: $0)
    }
    let (users, orders) = (name(#",url_template="/users/{id}""#), name(#",url_template="/orders""#))
    expectEqual(gauges(), [name(""): 1, users: 2, orders: 1])
    for request in requests { request.end(statusCode: 200, route: "/late") }
    expectEqual(gauges(), [name(""): 0, users: 0, orders: 0])
    let late = registry.value(
      of: "http_client_request_duration_seconds_count", labels: ["url_template": "/late"])
    #expect(late == 4)
  }

  @Test func `each phase of a server and a template has a series of its own, however often it is found`()
    throws
  {
    let metrics = try driver()
    let all = RequestTimings.Phase.allCases
    for text in ["c b", "c b /x", "c b /y", "c b /y"] { run(metrics, text) }
    for _ in 0..<3 {
      metrics.record(request("c a")) {
        for (place, phase) in all.enumerated() { $0.timings[phase] = .seconds(place) }
        $0.openedConnections = 1
      }
    }
    let sums = samples(of: "http_client_request_phase_duration_seconds_sum").filter { $0.key.hasSuffix("a") }
    let expected = all.enumerated().map { ("c \($1.rawValue) a", Double(3 * $0)) }
    #expect(sums == Dictionary(uniqueKeysWithValues: expected))
    let others = samples(of: phases).filter { !$0.key.hasSuffix("a") }
    #expect(others == ["c transfer b": 1, "c transfer b /x": 1, "c transfer b /y": 2])
    #expect(samples(of: connections) == ["c a": 3, "c b": 4])
  }

  @Test func `what has no room overflows, and all else is told apart`() throws {
    let (started, ended) = ("session_tap_started_requests_total", "session_tap_ended_requests_total")
    let rows: [(limit: Int, requests: [String], names: [String], shown: [String: Double])] = [
      (1, ["c a /a", "c b /b", "c a /a", "c c /c"], [count], ["c GET 200 a /a": 2, overflow: 2]),
      (1, ["c a /a", "c b /b", "c a /a", "c c /c"], [phases], ["c transfer a /a": 2, overflow: 2]),
      (1, ["c a /a", "c b /b", "c a /a", "c c /c"], [connections], ["c a": 2, overflow: 2]),
      // Active alone: nothing but the table of targets is full. What has no target there would count under
      // the labels of the first of them.
      (1, ["active a", "c b", "c c"], [count, phases, connections], [overflow: 2]),
      // Ends without room.
      (2, ["c a", "c b", "404 a", "404 b", "404 b"], [connections], ["c a": 2, "c b": 3]),
      (2, ["c a", "c b", "d a", "c x", "d y", "d z"], [started, ended], ["c": 3, "d": 3]),
      (1, ["c a", "d a", "e a"], [started, ended], ["c": 1, overflow: 2]),
    ]
    for row in rows {
      let suite = RequestSeriesTests()
      let metrics = try suite.driver(limit: row.limit)
      for text in row.requests {
        if text.hasPrefix("active") {
          metrics.requestStarted(request(text.replacing("active", with: "c")))
        } else {
          let isMissing = text.hasPrefix("404")
          suite.run(metrics, text.replacing("404", with: "c"), status: isMissing ? 404 : 200)
        }
      }
      let shown = row.names.map { suite.samples(of: $0) }
      #expect(shown == row.names.map { _ in row.shown }, "\(row.requests)")
    }
  }
}
