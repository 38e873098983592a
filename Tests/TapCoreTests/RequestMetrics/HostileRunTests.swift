import Foundation
import TestSupport
import Testing

@testable import TapCore

/// No input grows memory past the limit or yields an exposition that a parser rejects.
struct HostileRunTests {
  private let registry = Registry()

  /// 100,000 hosts, among them some of a megabyte, ill-formed ones and every control character.
  private func attack() throws {
    let metrics = try RequestMetrics(registry: registry)
    let megabyte = String(repeating: "x", count: 1 << 20)
    for number in 0..<100_000 {
      let host =
        switch number % 1_000 {
        case 0: megabyte + "\(number)"
        case 1:
          "\(number)" + String(decoding: [0xff, UInt8(number / 1_000), 0xc0, 0xed, 0xa0], as: UTF8.self)
        case 2: "\(number)" + (UnicodeScalar(number / 1_000).map(String.init) ?? "")
        default: "host-\(number)\"\\\n"
        }
      let request = RequestDescription(
        client: "c", method: number % 7 == 0 ? megabyte : "GET", url: host, serverAddress: host,
        urlTemplate: number % 5_000 == 0 ? megabyte : nil)
      metrics.requestStarted(request)
      metrics.requestEnded(
        RequestObservation(
          request: request, start: .now, duration: .nanoseconds(number), end: .response(statusCode: number),
          responseBodySize: Int64(number)))
    }
  }

  @Test func memoryAndExpositionStayBounded() throws {
    let before = ProcFile.read("/proc/self/stat").flatMap(ProcessStatus.init)?.residentPages ?? 0
    try attack()
    let after = ProcFile.read("/proc/self/stat").flatMap(ProcessStatus.init)?.residentPages ?? 0
    // 2,000 series of two histograms, of at most 4 KiB each, and room for the tests that run meanwhile. Kept as they
    // came, the hosts alone would take 100 MiB and the methods many times that.
    #expect(after < before + (96 << 20) / 4_096)

    let text = String(decoding: registry.exposition().bytes, as: UTF8.self).split(separator: "\n")
    func count(_ name: String) -> Int { text.count { $0.hasPrefix(name + "{") } }
    #expect(count("http_client_request_duration_seconds_count") == 2_001)
    #expect(count("http_client_active_requests") == 2_001)
    #expect(text.allSatisfy { $0.utf8.count < 2_000 })
    #expect(text.contains(#"session_tap_started_requests_total{client="c"} 100000"#))
    #expect(text.contains(#"session_tap_ended_requests_total{client="c"} 100000"#))
    let overflow = #"http_client_request_duration_seconds_count{otel_metric_overflow="true"} "#
    #expect(
      text.contains {
        $0.hasPrefix(overflow) && ($0.split(separator: " ").last.flatMap { Int($0) } ?? 0) > 90_000
      })
  }

  @Test(.enabled(if: ReferenceParser.isUsable, "the Python package prometheus_client is not installed"))
  func theReferenceParserAcceptsIt() throws {
    try attack()
    for format in [ExpositionFormat.text, .openMetrics] {
      let samples = try ReferenceParser.parse(registry.exposition(in: format))
      #expect(samples.count { $0.name == "http_client_request_duration_seconds_count" } == 2_001)
    }
  }

  @Test(.enabled(if: Tool.isUsable("promtool"), "promtool is not installed"))
  func promtoolAcceptsIt() throws {
    try attack()
    let result = try Tool("promtool").run(["check", "metrics"], input: registry.exposition().bytes)
    #expect(result.status == 0, "\(result.output.suffix(500))")
  }

  @Test(
    .enabled(if: Tool.isUsable("prometheus"), "prometheus is not installed"),
    arguments: [[], ["native-histograms"]])
  func prometheusAcceptsIt(features: [String]) async throws {
    try attack()
    let server = try await PrometheusServer.start(scraping: registry, features: features)
    let count = try await server.query("count(http_client_active_requests)")
    #expect(count == 2_001)
  }

  /// The keys that an app makes are its own, and bounded all the same.
  @Test func typedKeysOfAnyLengthAreBounded() throws {
    let family = try registry.counter("a_total", help: "", by: JobLabels.self)
    let megabyte = String(repeating: "x", count: 1 << 20)
    for number in 0..<5_000 {
      family[JobLabels(kind: number % 100 == 0 ? "\(number)" + megabyte : "kind-\(number)")].increment()
    }
    let lines = String(decoding: registry.exposition().bytes, as: UTF8.self).split(separator: "\n")
    #expect(lines.count { $0.hasPrefix("a_total{") } == 2_001)
    #expect(lines.allSatisfy { $0.utf8.count < 400 })
  }
}
