import SessionTap
import TapTesting
import TestSupport

/// What the app serves and what it asks of others meanwhile, in one registry and one log.
@Suite struct InboundTests {
  @Test(arguments: [true, false])
  func `share their trace, in the log and on the wire`(isSampled: Bool) async throws {
    let upstream = try Origin { _ in [.response()] }
    let tap = try Tap.start(.test { $0.servesLog = true })
    let session = tap.session(client: "upstream", configuration: .ephemeral)

    let caller = TraceContext.random(isSampled: isSampled)
    let inbound = try await tap.inbound.withRequest(
      method: "GET", path: "/orders/7", scheme: "http", traceparent: caller.traceparent
    ) { inbound in
      for path in ["/stock", "/price"] { _ = try await session.data(for: .traced(upstream.url(path))) }
      _ = try await session.data(from: upstream.url("/plain"))
      inbound.end(statusCode: 200, route: "/orders/{id}")
      return inbound.trace
    }

    let shown = Set(try await tap.get("/metrics").split(separator: "\n").map(String.init))
    await tap.shutdown()
    let labels = #"http_request_method="GET",http_response_status_code="200",http_route="/orders/{id}""#
    let expected: Set = [
      #"http_server_request_duration_seconds_count{\#(labels),url_scheme="http"} 1"#,
      #"http_server_upstream_requests_total{client="upstream",http_route="/orders/{id}"} 3"#,
    ]
    #expect(expected.subtracting(shown) == [])
    let sent = upstream.requests.compactMap { $0.headers["traceparent"] }
      .compactMap { TraceContext(traceparent: $0) }
    expectEqual(sent.map(\.traceID), [caller.traceID, caller.traceID])
    expectEqual(sent.map(\.isSampled), [isSampled, isSampled])

    // A test beside it may hold the queue of all sessions, which has a line of its own.
    let lines = try tap.logLines.filter { $0.row("event").hasSuffix(".request") }
    func spans(_ event: String) -> [String] {
      lines.filter { $0.row("event", "trace_id") == "\(event) \(caller.traceID)" }.map { $0.row("span_id") }
    }
    #expect(lines.count == 4 && spans("http.server.request") == [inbound.spanID])
    let line = try #require(lines.first { $0.row("event") == "http.server.request" })
    let calls = try #require(line.number("upstream_s"))
    let (own, whole) = (try #require(line.number("own_s")), try #require(line.number("duration_s")))
    let difference = abs(whole - calls - own)
    #expect(line.row("upstream_requests") == "3" && difference < 1e-9)
    #expect(spans("http.client.request").prefix(2) == sent.map(\.spanID)[...])
    #expect(Set(spans("http.client.request")).union([inbound.spanID, caller.spanID]).count == 5)
  }

  /// In a process of its own: a trace that begins without a served request is sampled as the newest tap has
  /// it.
  @Test(.needs(.program))
  func `begin a trace where there is none, which is sampled at the rate that the app sets`() async {
    await #expect(processExitsWith: .success) {
      let upstream = try Origin { _ in [.response()] }
      let tap = try Tap.start(.test { ($0.endpoint, $0.traceSamplingRate) = (nil, 1) })
      let session = tap.session(client: "upstream", configuration: .ephemeral)
      let own = try await tap.inbound.withRequest(method: "GET", path: "/") { inbound in
        _ = try await session.data(for: .traced(upstream.url()))
        // The tap itself changes no request.
        _ = try await session.data(from: upstream.url())
        return inbound.trace
      }
      _ = try await session.data(for: .traced(upstream.url()))
      await tap.shutdown()
      let sent = upstream.requests.map { $0.headers["traceparent"].flatMap { TraceContext(traceparent: $0) } }
      #expect(sent.map { $0?.isSampled } == [true, nil, true])
      #expect(sent.map { $0?.traceID == own.traceID } == [true, false, false])
    }
  }

  @Test func `the known methods of a tap are those of both directions, in metrics and log`() throws {
    let tap = try Tap.testing { $0.knownMethods = ["PURGE"] }
    for method in ["PURGE", "GET"] {
      tap.inbound.begin(method: method, path: "/").end(statusCode: 200)
      tap.outbound.begin(client: "c", method: method, url: "http://a/").end(statusCode: 200)
    }
    for name in ["http_client_request_duration_seconds_count", "http_server_request_duration_seconds_count"] {
      let counts = ["PURGE", "_OTHER"].map {
        tap.registry.value(of: name, labels: ["http_request_method": $0])
      }
      #expect(counts == [1, 1])
    }
    #expect(tap.requestLog?.flush() == true)
    let methods = try tap.logLines.map { $0.row("http.request.method", "http.request.method_original") }
    #expect(methods == ["PURGE -", "PURGE -", "_OTHER GET", "_OTHER GET"])
  }

  /// OpenTelemetry, `http.response.status_code`.
  @Test func `have the status that was received or sent in their line, however they end after it`()
    async throws
  {
    let tap = try Tap.testing()
    let ends: [(name: String, end: @Sendable (ActiveRequest) -> Void)] = [
      ("cancel", { $0.cancel() }), ("release", { _ in }), ("fail", { $0.fail(.connectionLost) }),
      ("end", { $0.end(statusCode: 500) }),
    ]
    for (name, end) in ends {
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
    let lines = try tap.logLines.map {
      $0.row("url.path", "url.full", "http.response.status_code", "outcome", "error.type", "severity")
    }
    #expect(
      lines == [
        "/cancel - 404 cancelled - INFO", "/release - 404 cancelled - INFO",
        "/fail - 404 error connection_lost ERROR", "/end - 500 http_error 500 ERROR",
        "/unheard - - cancelled - INFO", "- http://host/with 404 cancelled - INFO",
      ])
  }
}
