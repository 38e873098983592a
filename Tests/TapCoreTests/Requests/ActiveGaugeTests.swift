import TestSupport

@testable import TapCore

/// An end counts where its start did, whatever overflows and expires meanwhile.
struct ActiveGaugeTests {
  private let registry = Registry()
  private let start = Instant.now

  /// The values of a gauge, by its series.
  private func gauges(
    _ name: String = "http_client_active_requests", after seconds: Int
  ) -> [String: Double] {
    registry.samples(seconds, after: start).filter { $0.hasPrefix(name + "{") }.values
  }

  private func makeRecorder(limit: Int) throws -> RequestRecorder {
    var configuration = RequestConfiguration()
    configuration.series = SeriesConfiguration(limit: limit, idleExpiry: .seconds(5))
    return try RequestRecorder(
      registry: registry, outbound: configuration, inbound: configuration,
      knownMethods: KnownMethods(["GET"]), consumers: [])
  }

  private func begin(_ host: String, client: String = "c", _ recorder: RequestRecorder) -> ActiveRequest {
    recorder.outbound.begin(client: client, method: "GET", url: "http://\(host)/")
  }

  private func gauge(_ host: String) -> String {
    #"http_client_active_requests{client="c",http_request_method="GET",server_address="\#(host)",server_port="80"}"#
  }

  @Test func `a request that started in overflow ends there`() throws {
    let recorder = try makeRecorder(limit: 1)
    let first = begin("first", recorder)
    let second = begin("second", recorder)
    _ = gauges(after: 0)
    first.end(statusCode: 200)
    _ = gauges(after: 0)
    let overflow = #"http_client_active_requests{otel_metric_overflow="true"}"#
    // The first is gone, and there is room.
    #expect(gauges(after: 10) == [overflow: 1])
    let third = begin("second", recorder)
    #expect(gauges(after: 10) == [overflow: 1, gauge("second"): 1])
    second.end(statusCode: 200)
    #expect(gauges(after: 10) == [overflow: 0, gauge("second"): 1])
    third.end(statusCode: 200)
    _ = gauges(after: 20)
    #expect(gauges(after: 30) == [overflow: 0])
  }

  @Test(arguments: 0..<Extent.of(3, extensive: 16))
  func `gauges agree with a model`(seed: Int) throws {
    var generator = SeededGenerator(seed: seed)
    let recorder = try makeRecorder(limit: 1 + seed % 4)
    var active: [(request: ActiveRequest, gauge: String)] = []
    var seconds = 0
    var known: [String: Double] = [:]
    for _ in 0..<Extent.of(60, extensive: 300) {
      switch Int.random(in: 0..<20, using: &generator) {
      case 0..<9:
        let request = begin(
          "host-\(Int.random(in: 0..<4, using: &generator))",
          client: Bool.random(using: &generator) ? "a" : "b", recorder)
        let raised = gauges(after: seconds).filter { $0.value > known[$0.key, default: 0] }
        #expect(raised.count == 1)
        active.append((request, raised.keys.first ?? ""))
      case 9..<19 where !active.isEmpty:
        active.remove(at: Int.random(in: active.indices, using: &generator)).request.end(statusCode: 200)
      default: seconds += Int.random(in: 1...6, using: &generator)
      }
      known = gauges(after: seconds)
      let model = Dictionary(active.map { ($0.gauge, 1.0) }, uniquingKeysWith: +)
      #expect(known.filter { $0.value != 0 } == model)
    }
    for request in active.map(\.request) { request.cancel() }
    _ = gauges(after: seconds)
    // With nothing active every target can expire.
    #expect(gauges(after: seconds + 10).keys.allSatisfy { $0.contains("overflow") })
  }

  @Test func `inbound gauges agree with a model`() throws {
    let requests = try makeRecorder(limit: 4).inbound
    var generator = SeededGenerator(seed: 1)
    var active: [(request: ActiveRequest, gauge: String)] = []
    for step in 0..<Extent.of(60, extensive: 400) {
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
      let model = Dictionary(active.map { ($0.gauge, 1.0) }, uniquingKeysWith: +)
      #expect(gauges("http_server_active_requests", after: step).filter { $0.value != 0 } == model)
    }
  }
}
