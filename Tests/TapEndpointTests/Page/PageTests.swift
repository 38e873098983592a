import Foundation
import Synchronization
import TapCore
import TapEndpoint
import TestSupport
import Testing

/// The page in a real browser.
@Suite struct PageTests {
  private static let hostile = "\"><img src=x onerror=alert(1)></script><script>alert(2)</script>"

  /// What a page shows after some seconds of its own time.
  private func dump(_ port: Int, _ arguments: [String] = ["--dump-dom"]) async throws -> (
    document: String, console: String
  ) {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let flags = [
      "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=\(folder.path)",
      "--enable-logging=stderr", "--virtual-time-budget=9000",
    ]
    let output = try await Tool("chromium").run(flags + arguments + ["http://127.0.0.1:\(port)/"]).output
    let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
    return (output, lines.filter { $0.contains("CONSOLE") }.joined(separator: "\n"))
  }

  /// The text of the element with that id.
  private func text(_ id: String, in document: String) -> String? {
    guard let start = document.firstRange(of: "id=\"\(id)\"")?.upperBound else { return nil }
    return document[start...].drop { $0 != ">" }.dropFirst().prefix { $0 != "<" }.description
  }

  private func record(_ metrics: RequestMetrics, _ host: String, _ duration: Duration, _ end: RequestEnd) {
    let request = RequestDescription(
      client: "payments", method: "GET", url: "https://\(host)/", serverAddress: host, serverPort: 443,
      urlTemplate: "/users/{id}")
    metrics.requestStarted(request)
    metrics.requestEnded(RequestObservation(request: request, start: .now, duration: duration, end: end))
  }

  @Test(.enabled(if: Tool.isUsable("chromium"), "chromium is missing"))
  func showsWhatTheRegistryHas() async throws {
    let registry = Registry()
    let metrics = try RequestMetrics(registry: registry)
    for _ in 0..<1_234 { record(metrics, "api.example.com", .milliseconds(40), .response(statusCode: 200)) }
    for _ in 0..<60 { record(metrics, Self.hostile, .seconds(2), .response(statusCode: 503)) }
    for _ in 0..<6 { record(metrics, "down.example.com", .seconds(9), .failure(.timeout, statusCode: nil)) }
    metrics.requestStarted(
      RequestDescription(client: "payments", method: "GET", serverAddress: "api.example.com", serverPort: 443)
    )
    let log =
      "{\"timestamp\":\"2026-11-21T09:30:00Z\",\"severity\":\"ERROR\",\"client\":\"\(Self.hostile.replacing("\"", with: "\\\""))\",\"duration_s\":0.25}\nnot JSON\n"
    let routes = [try HTTPRoute.metrics(of: registry), .page(showsLog: true), logs { log }]
    try await withEndpoint(routes: routes) { port in
      let (document, console) = try await dump(port)
      #expect(console == "")
      #expect(text("status", in: document) == "Live, every 2 s")
      #expect(text("requests", in: document) == "1,300")
      #expect(text("errors", in: document) == "66 (5.08 %)")
      #expect(text("active", in: document) == "1")
      // By histogram_quantile over the buckets 0.025 to 0.05, 1 to 2.5 and 7.5 to 10.
      #expect(text("p50", in: document) == "38.2 ms")
      #expect(text("p99", in: document) == "2.33 s")
      #expect(document.contains("<td>down.example.com</td>"))
      #expect(document.contains("<td class=\"number\">250 ms</td>"))
      #expect(document.contains("<td>not JSON</td>"))
      #expect(!document.contains("<img"))
      #expect(document.contains("&lt;img src=x onerror=alert(1)&gt;"))
    }
  }

  @Test(
    .enabled(if: Tool.isUsable("chromium"), "chromium is missing"), arguments: ["1280,1200", "390,1400"])
  func drawsTraffic(window: String) async throws {
    let registry = Registry()
    let metrics = try RequestMetrics(registry: registry)
    let scrapes = Mutex(0)
    // Each look at the log, which follows a scrape, makes some traffic.
    let log = logs {
      let scrape = scrapes.withLock { scrapes in
        scrapes += 1
        return scrapes
      }
      for step in 1...(40 + scrape % 3 * 30) {
        record(
          metrics, "api.example.com", .milliseconds(step * step % (90 * scrape)),
          .response(statusCode: step % 9 == 0 ? 503 : 200))
      }
      return
        "{\"timestamp\":\"2026-11-21T09:30:00Z\",\"severity\":\"INFO\",\"event\":\"http.client.request\"}\n"
    }
    try await withEndpoint(routes: [try .metrics(of: registry), .page(showsLog: true), log]) { port in
      let (document, console) = try await dump(port)
      #expect(console == "")
      for id in ["rate", "share", "latency"] {
        let chart = try #require(document.firstRange(of: "<svg id=\"\(id)\"")).upperBound
        #expect(
          document[chart...].prefix(2_000).firstMatch(of: /points="[\d.]+,[\d.]+ [\d.]+,[\d.]+/) != nil,
          "\(id)")
      }
      #expect(document.contains("<rect x="))
      // For people to look at.
      if let folder = ProcessInfo.processInfo.environment["SESSION_TAP_ARTIFACTS"] {
        let path = "\(folder)/page-\(window.replacing(",", with: "x")).png"
        _ = try await dump(
          port, ["--window-size=\(window)", "--screenshot=\(path)", "--virtual-time-budget=60000"])
        #expect(FileManager.default.fileExists(atPath: path))
      }
    }
  }

  @Test func letsNothingRunButItsOwnScript() async throws {
    try await withEndpoint(routes: [.page()]) { port in
      let answers = [try await RawClient.get("/", port: port), try await RawClient.get("/", port: port)]
      let nonces = answers.compactMap { $0.firstMatch(of: /script-src 'nonce-([^']+)'/)?.1 }
      #expect(Set(nonces).count == 2)
      for (answer, nonce) in zip(answers, nonces) {
        #expect(answer.contains("\r\nContent-Security-Policy: default-src 'none'; "))
        #expect(answer.contains("<script nonce=\"\(nonce)\">"))
        #expect(answer.contains("<style nonce=\"\(nonce)\">"))
        #expect(!answer.contains("NONCE"))
        #expect(!answer.contains("data-on="))
        // No other resource, no handler or style in an attribute.
        let attributes = answer.matches(of: /\s(?:src|style|on[a-z]+)="/).count
        #expect(attributes == 0)
        let addresses = answer.matches(of: /https?:\/\/(?!www\.w3\.org)/).count
        #expect(addresses == 0)
      }
    }
  }

  /// What an app serves where the page looks for the last lines of its log.
  private func logs(_ lines: @escaping @Sendable () -> String) -> HTTPRoute {
    HTTPRoute("/logs") { _ in HTTPResponse(body: .bytes(Array(lines().utf8))) }
  }
}
