import TestSupport
import Testing

@testable import TapCore

/// An end counts where its start did, whatever overflows and expires meanwhile.
struct ActiveRequestsTests {
  private let registry = Registry()
  private let start = ContinuousClock.now

  /// The samples of a gauge, by their labels.
  private func gauges(_ name: String = "http_client_active_requests", after seconds: Int) -> [String: Int] {
    let families = registry.gather(at: start + .seconds(seconds))
    let lines = String(decoding: Exposition(of: families, in: .text, names: [name]).bytes, as: UTF8.self)
      .split(separator: "\n").filter { !$0.hasPrefix("#") }
    let samples = lines.compactMap { line in
      line.lastIndex(of: " ").map { (String(line[..<$0]), Int(line[$0...].dropFirst()) ?? .min) }
    }
    return Dictionary(samples) { $0 + $1 }
  }

  private func makeMetrics(limit: Int) throws -> RequestMetrics {
    var configuration = RequestMetrics.Configuration()
    configuration.series = SeriesOptions(limit: limit, idleExpiry: .seconds(5))
    return try RequestMetrics(registry: registry, configuration: configuration)
  }

  private func end(of request: RequestDescription) -> RequestObservation {
    RequestObservation(request: request, start: .now, duration: .zero, end: .response(statusCode: 200))
  }

  @Test func aRequestThatStartedInOverflowEndsThere() throws {
    let metrics = try makeMetrics(limit: 1)
    let first = RequestDescription(client: "c", method: "GET", serverAddress: "first")
    let second = RequestDescription(client: "c", method: "GET", serverAddress: "second")
    metrics.requestStarted(first)
    metrics.requestStarted(second)
    metrics.requestEnded(end(of: first))
    _ = gauges(after: 0)
    let overflow = #"http_client_active_requests{otel_metric_overflow="true"}"#
    // The first is gone, and there is room: but the second has one request in overflow.
    #expect(gauges(after: 10) == [overflow: 1])
    metrics.requestStarted(second)
    metrics.requestEnded(end(of: second))
    metrics.requestEnded(end(of: second))
    #expect(gauges(after: 10).values.allSatisfy { $0 == 0 })
    // Now that none is under way it gets its own.
    metrics.requestStarted(second)
    let own = #"http_client_active_requests{client="c",http_request_method="GET",server_address="second"}"#
    #expect(gauges(after: 20) == [overflow: 0, own: 1])
    metrics.requestEnded(end(of: second))
    _ = gauges(after: 20)
    #expect(gauges(after: 30) == [overflow: 0])
  }

  @Test(arguments: 0..<16)
  func gaugesAgreeWithAModel(seed: Int) throws {
    var generator = SeededGenerator(seed: seed)
    let metrics = try makeMetrics(limit: 1 + seed % 4)
    var active: [(request: RequestDescription, gauge: String)] = []
    var seconds = 0
    var known: [String: Int] = [:]
    for _ in 0..<300 {
      switch Int.random(in: 0..<20, using: &generator) {
      case 0..<9:
        let request = RequestDescription(
          client: Bool.random(using: &generator) ? "a" : "b", method: "GET",
          serverAddress: "host-\(Int.random(in: 0..<4, using: &generator))")
        metrics.requestStarted(request)
        let raised = gauges(after: seconds).filter { $0.value > known[$0.key, default: 0] }
        #expect(raised.count == 1)
        active.append((request, raised.keys.first ?? ""))
      case 9..<19 where !active.isEmpty:
        let ended = active.remove(at: Int.random(in: active.indices, using: &generator))
        metrics.requestEnded(end(of: ended.request))
      default:
        seconds += Int.random(in: 1...6, using: &generator)
      }
      known = gauges(after: seconds)
      let model = Dictionary(active.map { ($0.gauge, 1) }, uniquingKeysWith: +)
      #expect(known.filter { $0.value != 0 } == model)
    }
    for request in active.map(\.request) { metrics.requestEnded(end(of: request)) }
    _ = gauges(after: seconds)
    // With nothing under way every target can expire.
    #expect(gauges(after: seconds + 10).keys.allSatisfy { $0.contains("overflow") })
  }

  @Test func inboundGaugesAgreeWithAModel() throws {
    var configuration = InboundRequests.Configuration()
    configuration.knownMethods = ["GET"]
    configuration.series = SeriesOptions(limit: 1, idleExpiry: .seconds(1))
    let requests = try InboundRequests(registry: registry, configuration: configuration)
    var generator = SeededGenerator(seed: 1)
    var active: [(request: InboundRequest, gauge: String)] = []
    for step in 0..<400 {
      if Bool.random(using: &generator) || active.isEmpty {
        let isKnown = Bool.random(using: &generator)
        let scheme = Bool.random(using: &generator) ? "http" : "https"
        let labels = #"http_request_method="\#(isKnown ? "GET" : "_OTHER")",url_scheme="\#(scheme)""#
        let request = requests.begin(method: isKnown ? "GET" : "BREW", path: "/", scheme: scheme)
        active.append((request, "http_server_active_requests{\(labels)}"))
      } else {
        active.remove(at: Int.random(in: active.indices, using: &generator)).request
          .end(statusCode: 200, route: "/\(step % 3)")
      }
      let model = Dictionary(active.map { ($0.gauge, 1) }, uniquingKeysWith: +)
      #expect(gauges("http_server_active_requests", after: step).filter { $0.value != 0 } == model)
    }
  }
}
