import SessionTap
import TestSupport

@testable import TapPage

/// `/why`, and what it reads of a recorder.
struct WhyTests {
  private struct Answer: Decodable {
    struct Finding: Decodable {
      let kind: String, isWrong: Bool, client: String, route: String, server: String
    }

    let isWell: Bool, sentence: String, requests: Int, failed: Int, findings: [Finding]
  }

  private static func ask(
    _ route: EndpointRoute, _ query: String = "", accepting type: String? = nil
  ) async throws -> EndpointResponse {
    try await route.answer(
      EndpointRequest(path: "/why", query: query, headers: type.map { ["Accept": $0] } ?? [:]))
  }

  @Test func `is text for a person and JSON for a program, of the same time`() async throws {
    let driver = try RequestDriver(registry: Registry(), keepsHistory: true)
    let request = RequestDescription(
      client: "payments", method: "POST", url: "https://pay.test/charge/17?card=1", serverAddress: "pay.test",
      serverPort: 8_443, urlTemplate: "/charge/{id}")
    for _ in 0..<4 { driver.record(request, .response(statusCode: 503)) }
    driver.record(
      RequestDescription(direction: .inbound, method: "GET", url: "/", urlTemplate: "/cart"),
      .response(statusCode: 200))
    var answers: [String] = []
    for (query, type) in [
      ("", nil), ("", "application/json"), ("", "application/json;q=0.1, text/plain"), ("", "text/html, */*"),
      ("seconds=600", "*/*"), ("seconds=1", nil), ("seconds=x", nil),
    ] as [(String, String?)] {
      // Those that ask for the same within a second share the answer.
      let answer = try await Self.ask(.why(driver.recorder), query, accepting: type)
      let body = String(decoding: answer.body, as: UTF8.self).replacing(/\d\d:\d\d:\d\d/) { _ in "TIME" }
      answers.append("\(answer.status) \(answer.headers["Content-Type"] ?? "") \(body)")
    }
    let text =
      "4 of 4 requests of `payments` to POST pay.test:8443/charge/{id} failed since the start at TIME: the server answered 503 Service Unavailable.\n"
    let plain = "200 text/plain; charset=utf-8 \(text)"
    let refused = "400 text/plain; charset=utf-8 400 Bad Request: seconds must be a number from 5 to 600\n"
    expectEqual([0, 2, 3, 4, 5, 6].map { answers[$0] }, [plain, plain, plain, plain, refused, refused])
    let json = try await Self.ask(.why(driver.recorder), accepting: "application/json")
    let decoder = with(JSONDecoder()) { $0.keyDecodingStrategy = .convertFromSnakeCase }
    let answer = try decoder.decode(Answer.self, from: Data(json.body))
    #expect(answers[1].hasPrefix("200 application/json {\"is_well\":false,"))
    #expect(!answer.isWell && answer.requests == 5 && answer.failed == 4 && answer.findings.count == 1)
    // No more than the metrics tell.
    let finding = try #require(answer.findings.first)
    expectEqual(
      [finding.kind, finding.client, finding.route, finding.server],
      ["fails", "payments", "/charge/{id}", "pay.test:8443"])
    #expect(!String(decoding: json.body, as: UTF8.self).contains("card"))
  }

  @Test func `reads what requests took, failed with and wait for`() throws {
    let driver = try RequestDriver(registry: Registry(), keepsHistory: true) { $0.waitingLimit = .seconds(1) }
    let made = RequestDescription(client: "c", method: "GET", serverAddress: "a", serverPort: 443)
    driver.record(made) {
      ($0.duration, $0.timings[.resolve], $0.timings[.local]) = (
        .seconds(2), .milliseconds(1_500), .milliseconds(500)
      )
    }
    driver.record(made, .response(statusCode: 404))
    driver.record(made, .failure(.connect, statusCode: nil))
    driver.record(made, .cancelled)
    for method in ["GET", "PUT"] {
      driver.record(
        RequestDescription(direction: .inbound, method: method, url: "/", urlTemplate: "/both"),
        .response(statusCode: 200))
    }
    driver.record(made, .failure(.timeout, statusCode: nil)) {
      ($0.duration, $0.timings[.connect]) = (.seconds(3), .seconds(2))
    }
    driver.requestStarted(made)
    let evidence = Evidence(driver.recorder, at: Instant.now.advanced(by: .seconds(4)))
    let tallies = evidence.steps.reduce(into: [:]) { $0.merge($1.tallies, uniquingKeysWith: +) }
    let kind = RequestKind(client: "c", server: "a", method: "GET")
    let tally = try #require(tallies[kind])
    #expect(
      tally.count == 5 && tally.failures == ["404": 1, "connect": 1, "timeout": 1] && tally.answered == 2)
    #expect(tally.timeouts == .init(time: 3, phases: [.connect: 2]))
    #expect(tally.phases == [.resolve: 1.5, .local: 0.5] && tally.longest == 2 && tally.slow == 1)
    #expect(tally.buckets == [0.01: 1, 1: 1])
    #expect(tallies[RequestKind(isMade: false, path: "/both")]?.count == 2)
    #expect(evidence.active.map(\.kind) == [kind] && evidence.active.map(\.limit) == [1])
  }

  /// The time that a request waited for its calls is that of the requests whose time is named.
  @Test func `blames the upstream that the slow requests of a route wait for, whatever the others do`() throws
  {
    let driver = try RequestDriver(registry: Registry(), keepsHistory: true)
    let request = RequestDescription(direction: .inbound, method: "GET", url: "/", urlTemplate: "/stock/{id}")
    func serve(_ count: Int, _ end: RequestEnd, _ duration: Duration, waiting upstream: Duration) {
      for _ in 0..<count {
        driver.record(request, end) {
          $0.duration = duration
          $0.upstream = with(UpstreamTime()) {
            $0.nanoseconds = upstream.nanoseconds
            $0.clients = [.init(name: "warehouse", requestCount: 1, nanoseconds: upstream.nanoseconds)]
          }
        }
      }
    }
    serve(4, .response(statusCode: 200), .milliseconds(1_800), waiting: .milliseconds(1_760))
    serve(6, .response(statusCode: 502), .milliseconds(2), waiting: .milliseconds(1))
    serve(1, .failure(.other, statusCode: 200), .milliseconds(2), waiting: .milliseconds(1))
    serve(2, .cancelled, .milliseconds(200), waiting: .milliseconds(199))
    let diagnosis = Diagnosis(Evidence(driver.recorder, at: .now))
    let figures = Dictionary(diagnosis.findings.last?.figures.map { ($0.name, $0.value) } ?? []) { $1 }
    #expect(figures["upstream_s"] == 1.76 && figures["calls"] == 1 && figures["requests"] == 4)
    expectEqual(
      diagnosis.text.replacing(/\d\d:\d\d:\d\d/) { _ in "TIME" },
      """
      7 of 13 served requests of GET /stock/{id} failed since the start at TIME: 6 × this app answered 502 Bad Gateway; 1 × _OTHER.
      Known, and no trouble now:
      4 of 13 served requests of GET /stock/{id} took 1.8 s on average since the start at TIME, all of them over 1 s (the other 9 failed or were cancelled): 1.76 s of it waiting for `warehouse`, 1 call.

      """)
  }

  /// Each name of an article is one that the file of the runbooks has.
  @Test func `its runbooks are there`() throws {
    let runbooks = try Repository.text("dashboards/runbooks.md").lowercased()
    let sources = ["Failures", "Hangs", "Time"].map { "Sources/TapPage/Why/Past+\($0).swift" }
    let text = try sources.map(Repository.text).joined()
    let names = Set(text.matches(of: /"((?:http(?:client|server)|sessiontap)[a-z]+)"/).map { $0.1 })
    #expect(names.count >= 7 && names.filter { !runbooks.contains("\n## \($0)\n") } == [])
  }
}
