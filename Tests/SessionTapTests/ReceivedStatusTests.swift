import SessionTap
import TestSupport

/// A status that was received or sent is in the line, however the request ends after it (OpenTelemetry,
/// `http.response.status_code`), and in the labels unless that is a cancel.
@Suite struct ReceivedStatusTests {
  private static let ends: [(name: String, end: @Sendable (ActiveRequest) -> Void)] = [
    ("cancel", { $0.cancel() }), ("release", { _ in }), ("fail", { $0.fail(.connectionLost) }),
    ("end", { $0.end(statusCode: 500) }),
  ]

  @Test func `a request of the app's keeps the status that it was told of`() async throws {
    let tap = try Tap(.test(log: .memory) { $0.logging.recentLineLimit = 100 })
    for (name, end) in Self.ends {
      var request: ActiveRequest? = tap.inbound.begin(method: "GET", path: "/\(name)")
      request?.responseBegan(statusCode: 404)
      if let request { end(request) }
      request = nil
    }
    tap.inbound.begin(method: "GET", path: "/unheard").cancel()
    _ = try? await tap.outbound.withRequest(client: "c", method: "GET", url: "http://host/with") {
      $0.responseBegan(statusCode: 404)
      throw CancellationError()
    }
    #expect(await tap.flush())
    let lines = try #require(tap.requestLog).recentText.split(separator: "\n").map { line in
      let object = try jsonObject(line)
      let status = (object["http.response.status_code"] as? Int).map { "\($0)" } ?? "-"
      let url = (object["url.path"] ?? object["url.full"]) as? String ?? ""
      let words = ["outcome", "error.type", "severity"].map { object[$0] as? String ?? "-" }
      return "\(url) \(status) \(words.joined(separator: " "))"
    }
    #expect(
      lines == [
        "/cancel 404 cancelled - INFO", "/release 404 cancelled - INFO",
        "/fail 404 error connection_lost ERROR", "/end 500 http_error 500 ERROR",
        "/unheard - cancelled - INFO", "http://host/with 404 cancelled - INFO",
      ])
    let counts = tap.registry.text.matches(
      of: /http_(client|server)_request_duration_seconds_count{(.*)} (\d)/
    ).map { match in
      let error = match.2.firstMatch(of: /error_type="([^"]*)"/)?.1 ?? "-"
      let status = match.2.firstMatch(of: /http_response_status_code="([^"]*)"/)?.1 ?? "-"
      return "\(match.1) \(error) \(status) \(match.3)"
    }
    #expect(
      counts.sorted() == [
        "client - - 1", "server - - 3", "server 500 500 1", "server connection_lost 404 1",
      ])
    await tap.shutdown()
  }

  @Test func `a session's request that is cancelled after its head has its status`() async throws {
    let gate = Gate()
    defer { gate.open() }
    let origin = try Origin { _ in [.torn, .hold(gate)] }
    let observer = RecordingObserver()
    let tap = try Tap(.test { $0.consumers = [observer] })
    let task = tap.session(client: "c", configuration: .ephemeral).dataTask(with: origin.url())
    task.resume()
    try await Poll.until("the head") { tap.activeRequests().first?.statusCode == 200 }
    task.cancel()
    let ended = try await observer.end()
    #expect(ended.end == .cancelled && ended.statusCode == 200)
    await tap.shutdown()
  }
}
