import TestSupport
import Testing

@testable import TapCore

/// Whatever a middleware gives: memory stays bounded, and judges accept what is exposed.
@Suite(.needs(.processor))
struct HostileInboundTests {
  /// A registry that has seen 20,000 routes, among them some of a megabyte, ill-formed ones and control characters.
  private static let attacked = Result {
    var configuration = RequestOptions()
    configuration.series.limit = 200
    let registry = Registry()
    let requests = try RequestRecorder(registry: registry, inbound: configuration).inbound
    let megabyte = String(repeating: "x", count: 1 << 20)
    for number in 0..<20_000 {
      let route =
        switch number % 50 {
        case 0: number % 1_000 == 0 ? megabyte + "\(number)" : "/h\(number)\"\\\n"
        case 1: "/\(number)" + String(decoding: [0xff, UInt8(number / 400), 0xc0, 0xed, 0xa0], as: UTF8.self)
        case 2: "/\(number)" + (UnicodeScalar(number / 50).map(String.init) ?? "")
        default: "/route/\(number)"
        }
      let request = requests.begin(
        method: number % 1_000 == 7 ? megabyte : "GET", path: route, scheme: number % 3 == 0 ? route : "http",
        traceparent: route)
      request.end(
        statusCode: number - 10_000, route: route, requestBodySize: number % 2 == 0 ? .min : .max,
        responseBodySize: number)
    }
    return registry
  }

  @Test
  func `are bounded in number and length`() throws {
    let text = String(decoding: try Self.attacked.get().exposition().bytes, as: UTF8.self)
      .split(separator: "\n")
    func count(_ name: String) -> Int { text.count { $0.hasPrefix(name + "{") } }
    #expect(count("http_server_request_duration_seconds_count") == 201)
    #expect(count("http_server_active_requests") == 4)
    #expect(text.allSatisfy { $0.utf8.count < 2_000 })
    #expect(text.contains("session_tap_inbound_started_requests_total 20000"))
    #expect(text.contains("session_tap_inbound_ended_requests_total 20000"))
    let name = "http_server_request_duration_seconds"
    let overflow = #"session_tap_series_overflow_total{metric="\#(name)"} "#
    let dropped = text.first { $0.hasPrefix(overflow) }?.split(separator: " ").last.flatMap { Int($0) }
    #expect(dropped ?? 0 > 18_000)
  }

  @Test
  func `with the same too long route are one series, and one key`() throws {
    let registry = Registry()
    let requests = try RequestRecorder(registry: registry).inbound
    let route = String(repeating: "/x", count: 1_000)
    for _ in 0..<100 { requests.begin(method: "GET", path: route).end(statusCode: 200, route: route) }
    let text = String(decoding: registry.exposition().bytes, as: UTF8.self)
    #expect(text.contains(#"http_route="\#(route.prefix(256))"} 100"#))
  }

  @Test(
    .usesReferenceParser,
    arguments: [ExpositionFormat.text, .openMetrics])
  func `the reference parser accepts them`(format: ExpositionFormat) async throws {
    let samples = try await ReferenceParser.parse(Self.attacked.get().exposition(in: format))
    #expect(samples.count { $0.name == "http_server_request_duration_seconds_count" } == 201)
  }

  @Test(.enabled(if: Tool.isUsable("promtool"), "promtool is not installed"))
  func `promtool has no advice`() async throws {
    let result = try await Tool("promtool").run(
      ["check", "metrics"], input: Self.attacked.get().exposition().bytes)
    #expect(result.status == 0, "\(result.output.suffix(500))")
  }
}
