import TestSupport

@testable import TapCore

/// What a target remembers of its requests is what the tables have: nothing counts in a series that is gone, and nothing that is
/// gone is kept.
struct RequestSeriesTests {
  private let registry = Registry()
  private let start = Instant.now

  private func driver(limit: Int = 2_000, idleExpiry: Duration? = nil) throws -> RequestDriver {
    var configuration = RequestConfiguration()
    configuration.series = SeriesConfiguration(limit: limit, idleExpiry: idleExpiry)
    return try RequestDriver(registry: registry, configuration: configuration)
  }

  private func request(_ host: String = "a", template: String? = nil) -> RequestDescription {
    RequestDescription(client: "c", method: "GET", serverAddress: host, urlTemplate: template)
  }

  private func run(_ request: RequestDescription, _ metrics: RequestDriver, status: Int = 200) {
    metrics.requestStarted(request)
    var observation = RequestObservation(
      request: request, start: .now, duration: .milliseconds(1), end: .response(statusCode: status))
    observation.timings[.transfer] = .milliseconds(1)
    observation.openedConnections = 1
    metrics.requestEnded(observation)
  }

  /// The samples of some names, by what follows the name.
  private func samples(of name: String, after seconds: Int = 0) -> [String: Int] {
    let families = registry.gather(at: start.advanced(by: .seconds(seconds)))
    let text = String(decoding: Exposition(of: families, in: .text).body, as: UTF8.self)
    return text.split(separator: "\n").reduce(into: [:]) { samples, line in
      guard line.hasPrefix(name + "{"), let space = line.lastIndex(of: " ") else { return }
      samples[String(line[..<space].dropFirst(name.count))] = Int(line[space...].dropFirst())
    }
  }

  private let count = "http_client_request_duration_seconds_count"
  private let phases = "http_client_request_phase_duration_seconds_count"
  private let connections = "http_client_connections_opened_total"

  @Test func `what has expired begins anew while its target is in use`() throws {
    let metrics = try driver(idleExpiry: .seconds(5))
    // Keeps the target from expiring.
    metrics.requestStarted(request())
    for _ in 0..<3 { run(request(), metrics) }
    #expect(samples(of: count).values.sorted() == [3])
    #expect(samples(of: phases).values.sorted() == [3])
    #expect(samples(of: connections).values.sorted() == [3])
    #expect(samples(of: count, after: 5).isEmpty)
    #expect(samples(of: phases, after: 5).isEmpty)
    #expect(samples(of: connections, after: 5).isEmpty)
    run(request(), metrics)
    #expect(samples(of: count, after: 6).values.sorted() == [1])
    #expect(samples(of: phases, after: 6).values.sorted() == [1])
    #expect(samples(of: connections, after: 6).values.sorted() == [1])
  }

  @Test func `a series in use does not expire, however it is found`() throws {
    let metrics = try driver(idleExpiry: .seconds(5))
    for second in 0..<20 {
      for _ in 0..<3 { run(request(), metrics) }
      #expect(samples(of: count, after: 4 * second).values.sorted() == [3 * (second + 1)])
      #expect(samples(of: phases, after: 4 * second).values.sorted() == [3 * (second + 1)])
      #expect(samples(of: connections, after: 4 * second).values.sorted() == [3 * (second + 1)])
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

  @Test func `the overflow series keeps apart what is told apart elsewhere`() throws {
    let metrics = try driver(limit: 1)
    for host in ["a", "b", "a", "c"] { run(request(host, template: "/" + host), metrics) }
    #expect(samples(of: count).values.sorted() == [2, 2])
    #expect(samples(of: phases).values.sorted() == [2, 2])
    #expect(samples(of: connections).values.sorted() == [2, 2])
  }

  @Test(arguments: 0..<4)
  func `every end counts under its own labels, of however many`(seed: Int) throws {
    var generator = SeededGenerator(seed: seed)
    let metrics = try driver()
    var model: [String: Int] = [:]
    var phaseModel: [String: Int] = [:]
    for _ in 0..<2_000 {
      let (host, template) = (["a", "b"], (0..<15).map { "/\($0)" })
      let (target, path, status) = (
        host.randomElement(using: &generator) ?? "", template.randomElement(using: &generator) ?? "",
        Bool.random(using: &generator) ? 200 : 404
      )
      run(request(target, template: path), metrics, status: status)
      let error = status == 404 ? #"error_type="404","# : ""
      model[
        #"{client="c",\#(error)http_request_method="GET",http_response_status_code="\#(status)","#
          + #"server_address="\#(target)",url_template="\#(path)"}"#, default: 0] += 1
      phaseModel[
        #"{client="c",phase="transfer",server_address="\#(target)",url_template="\#(path)"}"#, default: 0] +=
        1
    }
    #expect(samples(of: count) == model)
    #expect(samples(of: phases) == phaseModel)
    #expect(samples(of: connections).values.reduce(0, +) == 2_000)
  }
}
