import TestSupport

@testable import TapCore

/// What a target remembers of its requests is what the tables have: nothing counts in a series that is gone,
/// and nothing that is gone is kept.
struct RequestSeriesTests {
  private let registry = Registry()
  private let start = Instant.now

  private func driver(limit: Int = 2_000, idleExpiry: Duration? = nil) throws -> RequestDriver {
    try RequestDriver(registry: registry) { $0.series = .init(limit: limit, idleExpiry: idleExpiry) }
  }

  private func request(_ host: String = "a", template: String? = nil) -> RequestDescription {
    RequestDescription(client: "c", method: "GET", serverAddress: host, urlTemplate: template)
  }

  private func run(_ request: RequestDescription, _ metrics: RequestDriver, status: Int = 200) {
    metrics.record(request, .response(statusCode: status)) {
      ($0.timings[.transfer], $0.openedConnections) = (.milliseconds(1), 1)
    }
  }

  /// The samples of some names, by what follows the name.
  private func samples(of name: String, after seconds: Int = 0) -> [String: Double] {
    let values = registry.samples(seconds, after: start).filter { $0.hasPrefix(name + "{") }.values
    return Dictionary(uniqueKeysWithValues: values.map { (String($0.dropFirst(name.count)), $1) })
  }

  private let count = "http_client_request_duration_seconds_count"
  private let phases = "http_client_request_phase_duration_seconds_count"
  private let connections = "http_client_connections_opened_total"

  /// The values of each of these three.
  private func values(after seconds: Int = 0) -> [[Double]] {
    [count, phases, connections].map { samples(of: $0, after: seconds).values.sorted() }
  }

  @Test func `what has expired begins anew while its target is in use`() throws {
    let metrics = try driver(idleExpiry: .seconds(5))
    // Keeps the target from expiring.
    metrics.requestStarted(request())
    for _ in 0..<3 { run(request(), metrics) }
    #expect(values() == [[3], [3], [3]])
    #expect(values(after: 5) == [[], [], []])
    run(request(), metrics)
    #expect(values(after: 6) == [[1], [1], [1]])
  }

  @Test func `a series in use does not expire, however it is found`() throws {
    let metrics = try driver(idleExpiry: .seconds(5))
    for second in 0..<20 {
      for _ in 0..<3 { run(request(), metrics) }
      #expect(values(after: 4 * second) == Array(repeating: [Double(3 * (second + 1))], count: 3))
    }
  }

  @Test func `what found no room finds it when there is some`() throws {
    let metrics = try driver(limit: 1, idleExpiry: .seconds(5))
    metrics.requestStarted(request())
    run(request(), metrics)
    for _ in 0..<3 { run(request(), metrics, status: 404) }
    let overflow = #"{otel_metric_overflow="true"}"#
    #expect(samples(of: count)[overflow] == 3)
    _ = samples(of: count, after: 5)
    for _ in 0..<2 { run(request(), metrics, status: 404) }
    let found = samples(of: count, after: 5)
    #expect(found[overflow] == 3)
    #expect(found.filter { $0.key.contains(#"status_code="404""#) }.values.sorted() == [2])
  }

  @Test func `a phase that found no room finds it when there is some`() throws {
    let metrics = try driver(limit: 1, idleExpiry: .seconds(5))
    func run(_ known: [RequestTimings.Phase]) {
      metrics.record(request()) { for phase in known { $0.timings[phase] = .milliseconds(1) } }
    }
    run([.transfer, .local])
    _ = samples(of: phases)
    run([.local])
    // The other one expires.
    _ = samples(of: phases, after: 5)
    run([.local])
    let local = #"{client="c",phase="local",server_address="a"}"#
    #expect(samples(of: phases, after: 5) == [#"{otel_metric_overflow="true"}"#: 2, local: 1])
  }

  @Test(arguments: [1, 2])
  func `what is too long for a label finds its series where there is no room for another`(limit: Int) throws {
    let metrics = try driver(limit: limit)
    let known: [RequestTimings.Phase] = [.transfer, .local]
    let long = String(repeating: "x", count: 300)
    let request = RequestDescription(client: long, method: "GET", serverAddress: long, urlTemplate: long)
    for status in [200, 404].prefix(limit) + [200, 404].prefix(limit) {
      metrics.record(request, .response(statusCode: status)) {
        for phase in known.prefix(limit) { $0.timings[phase] = .milliseconds(1) }
        $0.openedConnections = 1
      }
    }
    #expect(values() == (limit == 1 ? [[2], [2], [2]] : [[2, 2], [4, 4], [4]]))
    #expect(samples(of: "session_tap_ended_requests_total").values.sorted() == [Double(2 * limit)])
  }

  @Test func `what a client has counted stays, whatever expires`() throws {
    let metrics = try driver(idleExpiry: .seconds(5))
    run(request(), metrics)
    _ = values()
    #expect(values(after: 5) == [[], [], []])
    let ended = samples(of: "session_tap_ended_requests_total", after: 10)
    #expect(ended == [#"{client="c"}"#: 1])
  }

  @Test func `each phase has a series of its own, however often it is found`() throws {
    let metrics = try driver()
    let all = RequestTimings.Phase.allCases
    metrics.record(request("b")) { $0.openedConnections = 1 }
    for _ in 0..<3 {
      metrics.record(request()) {
        for (place, phase) in all.enumerated() { $0.timings[phase] = .seconds(place) }
        $0.openedConnections = 1
      }
    }
    let sums = samples(of: "http_client_request_phase_duration_seconds_sum")
    let expected = all.enumerated().map { place, phase in
      (#"{client="c",phase="\#(phase.rawValue)",server_address="a"}"#, Double(3 * place))
    }
    #expect(sums == Dictionary(uniqueKeysWithValues: expected))
    let servers: [String: Double] = [
      #"{client="c",server_address="a"}"#: 3, #"{client="c",server_address="b"}"#: 1,
    ]
    #expect(samples(of: connections) == servers)
  }

  @Test func `the overflow series keeps apart what is told apart elsewhere`() throws {
    let metrics = try driver(limit: 1)
    for host in ["a", "b", "a", "c"] { run(request(host, template: "/" + host), metrics) }
    #expect(values() == [[2, 2], [2, 2], [2, 2]])
  }

  /// Else it would count under the labels of the first of them.
  @Test func `what found no target overflows everywhere, whatever room there is`() throws {
    let metrics = try driver(limit: 1)
    // Active, so that nothing but the table of targets is full.
    metrics.requestStarted(request("a"))
    for host in ["b", "c"] { run(request(host), metrics) }
    for name in [count, phases, connections] {
      #expect(samples(of: name) == [#"{otel_metric_overflow="true"}"#: 2], "\(name)")
    }
  }

  @Test func `ends without room leave their servers apart`() throws {
    let metrics = try driver(limit: 2)
    for (host, status) in [("a", 200), ("b", 200), ("a", 404), ("b", 404), ("b", 404)] {
      run(request(host), metrics, status: status)
    }
    let servers: [String: Double] = [
      #"{client="c",server_address="a"}"#: 2, #"{client="c",server_address="b"}"#: 3,
    ]
    #expect(samples(of: connections) == servers)
  }

  @Test func `each client counts its own requests, whatever their targets share`() throws {
    let metrics = try driver(limit: 2)
    for (client, host) in [("c", "a"), ("c", "b"), ("d", "a"), ("c", "x"), ("d", "y"), ("d", "z")] {
      run(RequestDescription(client: client, method: "GET", serverAddress: host), metrics)
    }
    for name in ["started", "ended"] {
      let counts = samples(of: "session_tap_\(name)_requests_total")
      #expect(counts == [#"{client="c"}"#: 3, #"{client="d"}"#: 3])
    }
  }

  @Test func `clients without room count together`() throws {
    let metrics = try driver(limit: 1)
    for client in ["c", "d", "e"] {
      run(RequestDescription(client: client, method: "GET", serverAddress: "a"), metrics)
    }
    for name in ["started", "ended"] {
      let counts = samples(of: "session_tap_\(name)_requests_total")
      #expect(counts == [#"{client="c"}"#: 1, #"{otel_metric_overflow="true"}"#: 2])
    }
  }

  @Test(arguments: 0..<Extent.of(1, extensive: 4))
  func `every end counts under its own labels, of however many`(seed: Int) throws {
    var generator = SeededGenerator(seed: seed)
    let metrics = try driver()
    var model: [String: Double] = [:]
    var phaseModel: [String: Double] = [:]
    for _ in 0..<Extent.of(500, extensive: 2_000) {
      let target = Bool.random(using: &generator) ? "a" : "b"
      let path = "/\(Int.random(in: 0..<15, using: &generator))"
      let status = Bool.random(using: &generator) ? 200 : 404
      run(request(target, template: path), metrics, status: status)
      let error = status == 404 ? #"error_type="404","# : ""
      let server = #"server_address="\#(target)",url_template="\#(path)"}"#
      let ended = #"{client="c",\#(error)http_request_method="GET",http_response_status_code="\#(status)","#
      model[ended + server, default: 0] += 1
      phaseModel[#"{client="c",phase="transfer","# + server, default: 0] += 1
    }
    #expect(samples(of: count) == model)
    #expect(samples(of: phases) == phaseModel)
    #expect(samples(of: connections).values.reduce(0, +) == phaseModel.values.reduce(0, +))
  }
}
