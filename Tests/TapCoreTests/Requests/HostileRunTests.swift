import TestSupport

@testable import TapCore

/// No input grows memory past the limit or yields an exposition that a parser rejects.
struct HostileRunTests {
  /// In a process of its own, whose memory no other test changes.
  @Test(.needs(.processor)) func `memory and exposition stay bounded`() async {
    await #expect(processExitsWith: .success) {
      let (hosts, routes) = (Self.hostCount, Self.routeCount)
      let limit = hosts / 50
      let before = MemoryInUse.bytes
      let registry = try Self.registry(limit: limit)
      let after = MemoryInUse.bytes
      // Series of three histograms, of a few KiB each. Kept as they came, the hosts alone would take 1 MiB
      // for each thousand of them, and the methods as much: at full length more than this.
      #expect(before > 0 && after < before + limit * 48 * 1_024 + 32 * 1_048_576)

      let lines = registry.lines
      func count(_ name: String) -> Int { lines.count { $0.hasPrefix(name + "{") } }
      let series = [
        count("http_client_request_duration_seconds_count"), count("http_client_active_requests"),
        count("http_server_request_duration_seconds_count"), count("http_server_active_requests"),
      ]
      expectEqual(series, [limit + 1, limit + 1, limit + 1, 4])
      #expect(lines.allSatisfy { $0.utf8.count < 2_000 })
      let values = lines.values
      let totals: [Double?] = [
        values[#"session_tap_started_requests_total{client="c"}"#],
        values[#"session_tap_ended_requests_total{client="c"}"#],
        values["session_tap_inbound_started_requests_total"],
        values["session_tap_inbound_ended_requests_total"],
      ]
      let (outbound, inbound) = (Double(hosts), Double(routes))
      expectEqual(totals, [outbound, outbound, inbound, inbound])
      let overflow = values[#"http_client_request_duration_seconds_count{otel_metric_overflow="true"}"#] ?? 0
      #expect(overflow > 0.9 * outbound)
    }
  }

  private static let hostCount = Extent.of(5_000, extensive: 100_000)
  private static let routeCount = hostCount / 5

  /// It has seen many hosts and routes, among them some of a megabyte, ill-formed ones and every control
  /// character.
  private static func registry(limit: Int) throws -> Registry {
    let registry = Registry()
    let metrics = try RequestDriver(registry: registry) { $0.series.limit = limit }
    for number in 0..<hostCount {
      let request = RequestDescription(
        client: "c", method: number % 1_000 == 7 ? megabyte : "GET", serverAddress: host(number),
        urlTemplate: number % 5_000 == 0 ? megabyte : nil)
      metrics.record(request, .response(statusCode: number)) {
        ($0.duration, $0.responseBodySize) = (.nanoseconds(number), Int64(number))
      }
    }
    for number in 0..<routeCount {
      let route = "/" + host(number)
      let request = metrics.recorder.inbound.begin(
        method: number % 100 == 7 ? megabyte : "GET", path: route, scheme: number % 3 == 0 ? route : "http",
        traceparent: route)
      request.end(
        statusCode: number - 10_000, route: route, requestBodySize: number % 2 == 0 ? .min : .max,
        responseBodySize: number)
    }
    metrics.recorder.drain()
    return registry
  }

  private static let megabyte = String(repeating: "x", count: 1 << 20)

  private static func host(_ number: Int) -> String {
    switch number % 50 {
    case 0: return number % 1_000 == 0 ? megabyte + "\(number)" : "h\(number)\"\\\n"
    case 1:
      return "\(number)" + String(decoding: [0xff, UInt8(number / 400), 0xc0, 0xed, 0xa0], as: UTF8.self)
    case 2: return "\(number)" + (UnicodeScalar(number / 50).map(String.init) ?? "")
    default: return "host-\(number)"
    }
  }
}
