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

  @Test func `describes the metrics of scrapes`() async throws {
    try await withEndpoint(routes: [.metrics(of: Registry())]) { port in
      let fields = "Accept: application/openmetrics-text\r\n"
      _ = try await RawClient.get("/metrics", port: port, fields: fields)
      let answer = try await RawClient.get("/metrics", port: port, fields: fields)
      let lines = answer.split(separator: "\n").map { String($0) }
      let expected = [
        "# HELP session_tap_scrape_duration_seconds Time from a scrape's request to its answer.",
        "# UNIT session_tap_scrape_duration_seconds seconds",
        "# HELP session_tap_scrapes Scrapes by the status of the answer: 503 if there were too many, "
          + "it took too long, or too much is unsent.",
        "# HELP session_tap_scrapes_in_flight Scrapes that wait for their answer.",
      ]
      #expect(Set(lines).isSuperset(of: expected))
      let bounds = lines.filter { $0.hasPrefix("session_tap_scrape_duration_seconds_bucket{") }
        .compactMap { line in line.split(separator: "\"").dropFirst().first.flatMap { Double($0) } }
      #expect(bounds == [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, .infinity])
    }
  }

  @Test func `filters by name`() async throws {
    let registry = Registry()
    _ = try registry.counter("jobs_total", help: "Jobs.")
    _ = try registry.gauge("depth", help: "Depth.")
    _ = try registry.histogram("latency_seconds", help: "Latency.")
    let families = [
      "name[]=depth": ["depth"], "name%5B%5D=depth&name[]=jobs_total": ["depth", "jobs"],
      "name[]=jobs": ["jobs"], "name[]=nothing": [], "name[]=latency_seconds_count": ["latency"],
    ]
    try await withEndpoint(routes: [.metrics(of: registry)]) { port in
      func answered(_ query: String) async throws -> [String] {
        let answer = try await RawClient.get("/metrics?" + query, port: port)
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        return answer.split(separator: "# TYPE ").dropFirst().map {
          String($0.prefix { $0 != " " && $0 != "_" })
        }
      }
      for (query, expected) in families { expectEqual(try await answered(query), expected, "\(query)") }
      #expect(Set(try await answered("name=depth")).isSuperset(of: ["depth", "jobs"]))
    }
  }
}
