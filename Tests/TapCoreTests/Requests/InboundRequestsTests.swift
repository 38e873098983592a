import TestSupport

@testable import TapCore

@Suite struct InboundRequestsTests {
  private let registry = Registry()
  private let observer = RecordingObserver()
  private static let long = String(repeating: "A", count: 300)

  private func make(_ change: (inout RequestConfiguration) -> Void = { _ in }) throws -> InboundRequests {
    let configuration = with(RequestConfiguration(), change)
    return try RequestRecorder(registry: registry, inbound: configuration, consumers: [observer]).inbound
  }

  @Test func `have the metrics of the conventions, from the beginning to the end`() throws {
    let requests = try make { ($0.durationBuckets, $0.bodySizeBuckets) = ([1_000], [64]) }
    let request = requests.begin(method: "POST", path: "/users/42?token=s3cret", scheme: "https")
    let target = #"http_request_method="POST",url_scheme="https""#
    #expect(registry.value(ofSeries: "http_server_active_requests{\(target)}") == 1)
    request.end(statusCode: 201, route: "/users/{id}", requestBodySize: 12, responseBodySize: 512)
    let labels =
      #"http_request_method="POST",http_response_status_code="201",http_route="/users/{id}",url_scheme="https""#
    let known = registry.gather().map(\.descriptor).filter {
      $0.name.hasPrefix("http_server") || $0.name.contains("_inbound_")
    }
    #expect(
      known.map { "\($0.name) \($0.type) \($0.help)" }.joined(separator: "\n") == """
        http_server_active_requests gauge Requests that are being served.
        http_server_oldest_active_request_seconds gauge Age of the oldest request that is being served, 0 without any.
        http_server_request_body_size_bytes histogram Size of HTTP server request bodies.
        http_server_request_duration_seconds histogram Duration of HTTP server requests, from their beginning to the end of their response.
        http_server_request_upstream_seconds histogram Time in which at least one request that the app made within an HTTP server request was active.
        http_server_response_body_size_bytes histogram Size of HTTP server response bodies.
        http_server_upstream_request_seconds_total counter Sum of the durations of these requests, more than the time that passed if they were parallel.
        http_server_upstream_requests_total counter Requests that the app made within HTTP server requests that have ended.
        session_tap_inbound_cancelled_requests_total counter Inbound requests whose callers went away, or that were let go without an end.
        session_tap_inbound_ended_requests_total counter Inbound requests that have ended: with a response, with an error or by a cancel.
        session_tap_inbound_started_requests_total counter Inbound requests that have begun.
        """)
    let sum = "http_server_request_duration_seconds_sum"
    let samples = registry.lines.filter { line in
      !line.hasPrefix(sum) && known.contains { line.hasPrefix($0.name) }
    }
    #expect(
      samples.joined(separator: "\n") == """
        http_server_active_requests{\(target)} 0
        http_server_oldest_active_request_seconds{\(target)} 0
        http_server_request_body_size_bytes_bucket{\(labels),le="64.0"} 1
        http_server_request_body_size_bytes_bucket{\(labels),le="+Inf"} 1
        http_server_request_body_size_bytes_sum{\(labels)} 12
        http_server_request_body_size_bytes_count{\(labels)} 1
        http_server_request_duration_seconds_bucket{\(labels),le="1000.0"} 1
        http_server_request_duration_seconds_bucket{\(labels),le="+Inf"} 1
        http_server_request_duration_seconds_count{\(labels)} 1
        http_server_response_body_size_bytes_bucket{\(labels),le="64.0"} 0
        http_server_response_body_size_bytes_bucket{\(labels),le="+Inf"} 1
        http_server_response_body_size_bytes_sum{\(labels)} 512
        http_server_response_body_size_bytes_count{\(labels)} 1
        session_tap_inbound_cancelled_requests_total 0
        session_tap_inbound_ended_requests_total 1
        session_tap_inbound_started_requests_total 1
        """)
    #expect(!registry.lines.contains { $0.hasPrefix("http_client_") || $0.hasPrefix("session_tap_started") })
    let overflow = #"session_tap_series_overflow_total{metric="http_server_"#
    #expect(registry.lines.count { $0.hasPrefix(overflow) && $0.hasSuffix(" 0") } == 8)
  }

  @Test func `expose nothing before the first`() throws {
    let requests = try make()
    #expect(!registry.lines.contains { $0.contains("_server_") || $0.contains("_inbound_") })
    _ = requests.begin(method: "GET", path: "/")
    #expect(registry.lines.contains { $0.hasPrefix("http_server_request_duration_seconds_count") })
  }

  @Test func `have what was known when they failed, or when their caller left`() throws {
    let requests = try make()
    requests.begin(method: "GET", path: "/users/42").cancel(route: "/users/{id}")
    requests.begin(method: "GET", path: "/users/42").fail(
      .body, statusCode: 200, route: "/users/{id}", requestBodySize: 3, responseBodySize: 5)
    requests.recorder.drain()
    #expect(observer.ended.map(\.end) == [.cancelled, .failure(.body, statusCode: 200)])
    #expect(observer.ended.map(\.request.urlTemplate) == ["/users/{id}", "/users/{id}"])
    let failed = try #require(observer.ended.last)
    #expect((failed.requestBodySize, failed.responseBodySize, failed.errorMessage) == (3, 5, nil))
  }

  @Test func `name the response headers that a middleware keeps, each once and in order`() throws {
    let names = HeaderNames(request: ["X-Sent"], response: ["H", "c", "F", "e", "D", "g", "B", "A", "a"])
    let requests = try RequestRecorder(registry: registry, headers: names, consumers: []).inbound
    #expect(requests.responseHeaderNames == ["a", "b", "c", "d", "e", "f", "g", "h"])
  }

  @Test func `have only known methods and schemes`() throws {
    let rows: [(String, String?, String)] = [
      ("GET", "http", #"http_request_method="GET",url_scheme="http""#),
      ("QUERY", "HTTPS", #"http_request_method="QUERY",url_scheme="https""#),
      ("PUT", "HTTP", #"http_request_method="PUT",url_scheme="http""#),
      ("get", nil, #"http_request_method="_OTHER""#), ("", "", #"http_request_method="_OTHER""#),
      ("GET\0", "wss", #"http_request_method="_OTHER",url_scheme="_OTHER""#),
      (Self.long, Self.long, #"http_request_method="_OTHER",url_scheme="_OTHER""#),
    ]
    let requests = try make()
    for (method, scheme, labels) in rows {
      let active = "http_server_active_requests{\(labels)}"
      let count = "http_server_request_duration_seconds_count{\(labels)}"
      let before = registry.value(ofSeries: count) ?? 0
      let request = requests.begin(method: method, path: "/", scheme: scheme)
      #expect(registry.value(ofSeries: active) == 1)
      request.cancel()
      #expect([active, count].map { registry.value(ofSeries: $0) } == [0, before + 1], "\(labels)")
    }
    #expect(observer.ended.map(\.request.method) == rows.map(\.0))
  }

  @Test func `have the protocol's version, if the middleware knows it`() throws {
    let requests = try make()
    for version in [nil, NetworkProtocolVersion.http10, .http2] {
      let request = requests.begin(method: "GET", path: "/", scheme: "http")
      request.responseBegan(statusCode: 200, protocolVersion: version)
      request.responseBegan(statusCode: 204)
      request.end(statusCode: 204)
    }
    let versions = registry.text.matches(
      of: /http_server_request_duration_seconds_count\{[^}]*network_protocol_version="([^"]*)"/)
    expectEqual(versions.map { String($0.1) }, ["1.0", "2"])
    expectEqual(observer.ended.map(\.protocolVersion), [nil, .http10, .http2])
  }

  @Test func `may outlive everything else that knows their recorder`() async throws {
    let request = try make().begin(method: "GET", path: "/")
    request.end(statusCode: 200)
    try await observer.waitForEnds(1)
    #expect(observer.ended.count == 1)
  }

  @Test func `end once, and that started are those that ended and those active, at any scrape`() throws {
    let requests = try make()
    let kept = DispatchQueue(label: "kept")
    nonisolated(unsafe) var open: [ActiveRequest] = []
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for round in 0..<300 {
        let method = ["GET", "POST", "BREW"][(thread + round) % 3]
        let request = requests.begin(method: method, path: "/", scheme: thread % 2 == 0 ? "http" : nil)
        if round % 50 == 0 { expectBalance() }
        if round % 3 == 0 { kept.sync { open.append(request) } } else { request.end(statusCode: 200) }
      }
    }
    expectBalance()
    #expect(open.count == 800)
    let names = ["started", "ended"].map { "session_tap_inbound_\($0)_requests_total" }
    #expect(names.map { registry.value(of: $0) } == [2_400, 1_600])
    for request in open.prefix(200) {
      DispatchQueue.concurrentPerform(iterations: 8) { thread in
        if thread % 2 == 0 { request.end(statusCode: 200 + thread) } else { request.fail(.other) }
      }
    }
    open = []
    expectBalance()
    #expect(names.map { registry.value(of: $0) } == [2_400, 2_400] && observer.ended.count == 2_400)
  }

  private func expectBalance() {
    let text = registry.text
    func sum(_ name: String) -> Double { ExpositionText.sum(of: name, in: text) }
    let ended = sum("session_tap_inbound_ended_requests_total")
    #expect(sum("session_tap_inbound_started_requests_total") == ended + sum("http_server_active_requests"))
  }

  @Test func `are observed with what the middleware told`() throws {
    let before = Timestamp.now
    let requests = try make()
    let request = requests.begin(
      method: "GET", path: "/a/b", scheme: "ftp", clientAddress: "192.0.2.7", fields: ["tenant": "acme"])
    request.end(statusCode: 200, route: "/a/{b}", requestBodySize: -1, responseBodySize: .max)
    requests.recorder.drain()
    let seen = try #require(observer.ended.first)
    #expect(seen.request.knownScheme == "_OTHER")
    #expect(
      seen.request
        == RequestDescription(
          direction: .inbound, method: "GET", url: "/a/b", urlTemplate: "/a/{b}", scheme: "ftp",
          clientAddress: "192.0.2.7", traceContext: request.trace, fields: ["tenant": "acme"]))
    #expect(seen.start >= before && seen.duration >= .zero)
    // What cannot be is no size, and counted.
    #expect(!registry.lines.contains { $0.hasPrefix("http_server_request_body_size_bytes_count") })
    #expect(registry.lines.contains { $0.hasPrefix("http_server_response_body_size_bytes_count") })
    let dropped = #"session_tap_dropped_values_total{metric="http_server_request_body_size_bytes"}"#
    #expect(registry.lines.contains("\(dropped) 1"))
    #expect(registry.lines.count { $0.hasPrefix("session_tap_dropped_values_total{") } == 1)
  }

  @Test func `continue their caller's trace, if that is valid`() throws {
    let requests = try make()
    let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    func trace(_ header: String?) -> TraceContext {
      requests.begin(method: "GET", path: "/", traceparent: header) {
        $0 == "tracestate" ? "vendor=1" : nil
      }.trace
    }
    let continued = trace(header)
    #expect(continued.traceID == "0af7651916cd43dd8448eb211c80319c" && continued.isSampled)
    #expect(continued.spanID != "b7ad6b7169203331" && continued.tracestate == "vendor=1")
    for header in [nil, "", "00-1-2-3", header + "," + header, header.uppercased()] {
      let own = trace(header)
      #expect(own.traceID != continued.traceID && !own.isSampled && own.tracestate == nil)
    }
  }
}
