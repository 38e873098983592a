import TapEndpoint
import TestSupport

@Suite struct MetricsRouteTests {
  /// A scrape sees those before it as ended, and itself as in flight.
  @Test func `serves the metrics of a registry, and those of scrapes`() async throws {
    let registry = Registry()
    try registry.counter("jobs_total", help: "Jobs.").increment(by: 3)
    try registry.gauge("depth", help: "Depth.").set(2)
    try await withEndpoint(routes: [.metrics(of: registry)]) { port in
      let all = try await RawClient.get("/metrics", port: port)
      for text in ["\njobs_total 3", "\ndepth 2", "\nsession_tap_scrapes_in_flight 1"] {
        #expect(all.contains(text))
      }
      #expect(!all.contains("session_tap_scrapes_total{"))
      let second = try await RawClient.get("/metrics", port: port)
      #expect(second.contains("\nsession_tap_scrapes_total{code=\"200\",format=\"text\"} 1"))
      #expect(second.contains("\nsession_tap_scrape_duration_seconds_count 1\n"))
      let bounds = second.matches(of: /scrape_duration_seconds_bucket\{le="([^"]*)"/).map { Double($0.1) }
      #expect(bounds == [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, .infinity])
      let other = try await RawClient.get("/metric", port: port)
      #expect(other.hasSuffix("\r\n\r\n404 Not Found: nothing is here; this server has /metrics\n"))
    }
  }

  /// Several fields of a name are one list (RFC 9110, section 5.3).
  @Test(arguments: [
    ("", ExpositionFormat.text, ""),
    (
      "Accept: text/plain;q=0.1\r\nAccept: application/openmetrics-text;escaping=values\r\n", .openMetrics, ""
    ),
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
      let expected = [
        "HTTP/1.1 200 OK",
        "Content-Type: \(format.contentType)\(format == .openMetrics ? "; escaping=values" : "")",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff", "Vary: Accept, Accept-Encoding",
      ]
      #expect(lines == expected + (coding.isEmpty ? [] : ["Content-Encoding: \(coding)"]))
      let labels = ["code": "200", "format": format.rawValue]
      #expect(registry.value(of: "session_tap_scrapes_total", labels: labels) == 1)
    }
  }

  @Test func `filters by name`() async throws {
    let registry = Registry()
    _ = try registry.counter("jobs_total", help: "Jobs.")
    _ = try registry.gauge("depth", help: "Depth.")
    try await withEndpoint(routes: [.metrics(of: registry)]) { port in
      func answered(_ query: String) async throws -> [String] {
        let answer = try await RawClient.get("/metrics?" + query, port: port)
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        return answer.split(separator: "# TYPE ").dropFirst().map {
          String($0.prefix { $0 != " " && $0 != "_" })
        }
      }
      expectEqual(try await answered("name%5B%5D=depth&name[]=jobs_total"), ["depth", "jobs"])
      expectEqual(try await answered("name[]=nothing"), [])
      let all = try await answered("name=depth")
      #expect(Set(all).isSuperset(of: ["depth", "jobs"]))
    }
  }
}
