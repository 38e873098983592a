import TestSupport

@testable import TapCore

@Suite struct InboundRequestsTests {
  private let registry = Registry()
  private let observer = RecordingObserver()

  private func make(_ change: (inout RequestConfiguration) -> Void = { _ in }) throws -> InboundRequests {
    let configuration = with(RequestConfiguration(), change)
    return try RequestRecorder(registry: registry, inbound: configuration, consumers: [observer]).inbound
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
      .body, message: "s3cret@a", statusCode: 200, route: "/users/{id}", requestBodySize: 3,
      responseBodySize: 5)
    requests.recorder.drain()
    #expect(observer.ended.map(\.end) == [.cancelled, .failure(.body, statusCode: 200)])
    #expect(observer.ended.map(\.request.urlTemplate) == ["/users/{id}", "/users/{id}"])
    let failed = try #require(observer.ended.last)
    #expect((failed.requestBodySize, failed.responseBodySize, failed.errorMessage) == (3, 5, "REDACTED@a"))
  }

  @Test func `name the response headers that a middleware keeps, each once and in order`() throws {
    let names = HeaderNames(request: ["X-Sent"], response: ["H", "c", "F", "e", "D", "g", "B", "A", "a"])
    let requests = try RequestRecorder(registry: registry, headers: names, consumers: []).inbound
    #expect(requests.responseHeaderNames == ["a", "b", "c", "d", "e", "f", "g", "h"])
  }

  /// Of the methods: see `KnownMethodsTests`.
  @Test func `have only known schemes`() throws {
    let rows = [
      ("http", #"url_scheme="http""#), ("HTTPS", #"url_scheme="https""#), ("HTTP", #"url_scheme="http""#),
      (nil, ""), ("", ""), ("wss", #"url_scheme="_OTHER""#),
      (String(repeating: "A", count: 300), #"url_scheme="_OTHER""#),
    ]
    let found = try rows.map { scheme, _ in
      let registry = Registry()
      let requests = try RequestRecorder(registry: registry, consumers: []).inbound
      requests.begin(method: "", path: "/", scheme: scheme).cancel()
      return ["active_requests", "request_duration_seconds_count"].map { name in
        let series = registry.lines.filter { $0.hasPrefix("http_server_\(name){") }
        return series.joined().firstMatch(of: /url_scheme="\w+"/).map { String($0.0) } ?? ""
      }
    }
    #expect(found == rows.map { [$0.1, $0.1] })
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
    // Those that were let go.
    #expect(observer.ended.count { $0.end == .cancelled } == 600)
  }

  private func expectBalance() {
    let text = registry.text
    func sum(_ name: String) -> Double { ExpositionText.sum(of: name, in: text) }
    let ended = sum("session_tap_inbound_ended_requests_total")
    #expect(sum("session_tap_inbound_started_requests_total") == ended + sum("http_server_active_requests"))
  }

  @Test func `have no size that cannot be, which is counted, and leaves no exemplar`() throws {
    let requests = try make()
    let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    requests.begin(method: "GET", path: "/", traceparent: header).end(
      statusCode: 200, requestBodySize: -1, responseBodySize: .max)
    let lines = registry.exposition(in: .openMetrics).text.split(separator: "\n")
    let names = lines.filter { $0.contains(" # {") }.map { String($0.prefix { $0 != "{" }) }
    let ofDuration = "http_server_request_duration_seconds_bucket"
    expectEqual(names, [ofDuration, "http_server_response_body_size_bytes_bucket"])
    let counts = ["request", "response"].map { registry.value(of: "http_server_\($0)_body_size_bytes_count") }
    #expect(counts == [nil, 1])
    let dropped = registry.lines.filter { $0.hasPrefix("session_tap_dropped_values_total{") }
    #expect(dropped == [#"session_tap_dropped_values_total{metric="http_server_request_body_size_bytes"} 1"#])
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
