import TestSupport

@testable import TapCore

/// An end counts where its start did, whatever overflows and expires meanwhile.
struct ActiveGaugeTests {
  private let registry = Registry()
  private let start = Instant.now

  private func makeRecorder(limit: Int) throws -> RequestRecorder {
    var configuration = RequestConfiguration()
    configuration.series = SeriesConfiguration(limit: limit, idleExpiry: .seconds(5))
    return try RequestRecorder(
      registry: registry, outbound: configuration, inbound: configuration,
      knownMethods: KnownMethods(["GET"]), consumers: [])
  }

  @Test(arguments: RequestDirection.allCases, 0..<Extent.of(3, extensive: 16))
  func `gauges agree with a model`(direction: RequestDirection, seed: Int) throws {
    var generator = SeededGenerator(seed: seed)
    // Of served requests there are four targets.
    let recorder = try makeRecorder(limit: direction == .inbound ? 4 : 1 + seed % 4)
    let name = "http_\(direction == .inbound ? "server" : "client")_active_requests{"
    func gauges(after seconds: Int) -> [String: Double] {
      registry.samples(seconds, after: start).filter { $0.hasPrefix(name) }.values
    }
    func begin() -> ActiveRequest {
      let (host, isFirst) = (Int.random(in: 0..<4, using: &generator), Bool.random(using: &generator))
      return direction == .inbound
        ? recorder.inbound.begin(
          method: isFirst ? "GET" : "BREW", path: "/", scheme: host < 2 ? "http" : "https")
        : recorder.outbound.begin(client: isFirst ? "a" : "b", method: "GET", url: "http://host-\(host)/")
    }
    var active: [(request: ActiveRequest, gauge: String)] = []
    var seconds = 0
    var known: [String: Double] = [:]
    for step in 0..<Extent.of(60, extensive: 300) {
      switch Int.random(in: 0..<20, using: &generator) {
      case 0..<9:
        let request = begin()
        let raised = gauges(after: seconds).filter { $0.value > known[$0.key, default: 0] }
        #expect(raised.count == 1)
        active.append((request, raised.keys.first ?? ""))
      case 9..<19 where !active.isEmpty:
        active.remove(at: Int.random(in: active.indices, using: &generator)).request
          .end(statusCode: 200, route: direction == .inbound ? "/\(step % 3)" : nil)
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
}
