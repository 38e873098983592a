import SessionTap
import TapTesting
import TestSupport

/// What the app serves and what it asks of others meanwhile, in one registry and one log.
@Suite struct InboundTests {
  @Test(arguments: [true, false])
  func `share their trace, in the log and on the wire`(isSampled: Bool) async throws {
    let upstream = try Origin { _ in [.response()] }
    let tap = try Tap.start(.test { $0.servesLog = true })
    let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "upstream"))

    let caller = TraceContext.random(isSampled: isSampled)
    let inbound = try await tap.inbound.withRequest(
      method: "GET", path: "/orders/7", scheme: "http", traceparent: caller.traceparent
    ) { inbound in
      for path in ["/stock", "/price"] { _ = try await session.data(for: .traced(upstream.url(path))) }
      _ = try await session.data(from: upstream.url("/plain"))
      inbound.end(statusCode: 200, route: "/orders/{id}")
      return inbound.trace
    }

    let text = try await tap.get("/metrics")
    await tap.shutdown()
    let labels = #"http_request_method="GET",http_response_status_code="200",http_route="/orders/{id}""#
    #expect(text.contains(#"http_server_request_duration_seconds_count{\#(labels),url_scheme="http"} 1"#))
    let sent = upstream.requests.compactMap { $0.headers["traceparent"] }
      .compactMap { TraceContext(traceparent: $0) }
    #expect(sent.map(\.traceID) == [caller.traceID, caller.traceID])
    #expect(sent.map(\.isSampled) == [isSampled, isSampled])

    let lines = try #require(tap.requestLog).recentText.split(separator: "\n").map { try jsonObject($0) }
    func spans(_ event: String) -> [String] {
      lines.filter { $0["event"] as? String == event && $0["trace_id"] as? String == caller.traceID }
        .compactMap { $0["span_id"] as? String }
    }
    // A test beside it may hold the queue of all sessions, which has a line of its own.
    let ends: Set = ["http.server.request", "http.client.request"]
    #expect(lines.count { ends.contains($0["event"] as? String ?? "") } == 4)
    #expect(spans("http.server.request") == [inbound.spanID])
    let line = try #require(lines.first { $0["event"] as? String == "http.server.request" })
    let times = ["upstream_s", "own_s", "duration_s"].compactMap { line[$0] as? Double }
    #expect(
      line["upstream_requests"] as? Int == 3 && times.count == 3 && abs(times[0] + times[1] - times[2]) < 1e-9
    )
    #expect(
      text.contains(#"http_server_upstream_requests_total{client="upstream",http_route="/orders/{id}"} 3"#))
    #expect(spans("http.client.request").prefix(2) == sent.map(\.spanID)[...])
    #expect(Set(spans("http.client.request") + [inbound.spanID, caller.spanID]).count == 5)
  }

  /// A server that records what is sampled has no reason to record what nobody else does. In a process of its
  /// own: a trace that begins without a served request is sampled as the newest tap has it.
  @Test(.needs(.program))
  func `begin a trace where there is none, which is sampled at the rate that the app sets`() async {
    await #expect(processExitsWith: .success) {
      for rate in [0.0, 1] {
        let upstream = try Origin { _ in [.response()] }
        let tap = try Tap.start(.test { ($0.endpoint, $0.traceSamplingRate) = (nil, rate) })
        // A newer one without a rate takes nothing from it.
        let other = try Tap.start(.test { $0.endpoint = nil })
        let session = URLSession(
          configuration: tap.sessionConfiguration(from: .ephemeral, client: "upstream"))
        let own = try await tap.inbound.withRequest(method: "GET", path: "/") { inbound in
          _ = try await session.data(for: .traced(upstream.url()))
          // The tap itself changes no request.
          _ = try await session.data(from: upstream.url())
          return inbound.trace
        }
        _ = try await session.data(for: .traced(upstream.url()))
        await tap.shutdown()
        await other.shutdown()
        let headers = upstream.requests.map { $0.headers["traceparent"] }
        let sent = headers.compactMap { $0.flatMap { TraceContext(traceparent: $0) } }
        #expect(headers.map { $0?.hasSuffix(rate > 0 ? "-01" : "-00") } == [true, nil, true])
        #expect(sent.map { $0.traceID == own.traceID } == [true, false])
        #expect(Set(sent.map(\.spanID) + [own.spanID]).count == 3)
      }
    }
  }

  @Test func `the known methods of a tap are those of both directions, in metrics and log`() throws {
    let tap = try Tap.testing { $0.knownMethods = ["PURGE"] }
    for method in ["PURGE", "GET"] {
      tap.inbound.begin(method: method, path: "/").end(statusCode: 200)
      tap.outbound.begin(client: "c", method: method, url: "http://a/").end(statusCode: 200)
    }
    for name in ["http_client_request_duration_seconds_count", "http_server_request_duration_seconds_count"] {
      #expect(tap.registry.value(of: name, labels: ["http_request_method": "PURGE"]) == 1)
      #expect(tap.registry.value(of: name, labels: ["http_request_method": "_OTHER"]) == 1)
    }
    let log = try #require(tap.requestLog)
    #expect(log.flush())
    let text = log.recentText
    #expect(text.ranges(of: #""http.request.method":"PURGE","#).count == 2)
    let other = #""http.request.method":"_OTHER","http.request.method_original":"GET""#
    #expect(text.ranges(of: other).count == 2)
  }
}
