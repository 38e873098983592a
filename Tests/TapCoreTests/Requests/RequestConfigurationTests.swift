import TestSupport

/// Which requests are recorded, whoever makes or serves them, and by which templates.
struct RequestConfigurationTests {
  @Test func `a filter sees the path as text`() {
    let rows = [
      ("http://a.test/api", "/api"), ("http://a.test/api/users?x=/health", "/api/users"),
      ("http://a.test/%61pi", "/api"), ("http://a.test", ""), ("/api/served?x", "/api/served"), ("", ""),
    ]
    #expect(rows.map { RequestDescription(method: "GET", url: $0.0).path } == rows.map(\.1))
  }

  @Test(arguments: RequestDirection.allCases)
  func `what is not chosen is not counted, and has its trace`(direction: RequestDirection) throws {
    let options = with(RequestConfiguration()) { $0.filter = { $0.path == "/chosen" } }
    let registry = Registry()
    let all = RequestConfiguration()
    let (outbound, inbound) = direction == .inbound ? (all, options) : (options, all)
    let recorder = try RequestRecorder(registry: registry, outbound: outbound, inbound: inbound)
    for path in ["/chosen", "/other"] {
      let request =
        direction == .inbound
        ? recorder.inbound.begin(method: "GET", path: path)
        : recorder.outbound.begin(client: "shop", method: "GET", url: "http://a.test" + path)
      #expect(request.trace.traceID.count == 32)
      request.add(["a": 1])
      request.end(statusCode: 200)
    }
    let name =
      direction == .inbound ? "session_tap_inbound_ended_requests_total" : "session_tap_ended_requests_total"
    #expect(registry.value(of: name) == 1)
  }

  @Test(
    arguments: [(nil, "/users/{id}", "/users/{name}"), ("/said", "/said", "/said")]
      as [(String?, String, String)])
  func `templates count for every client and for what is served`(
    said: String?, template: String, route: String
  ) throws {
    let outbound = with(RequestConfiguration()) { $0.pathTemplates = ["/users/{id}"] }
    let inbound = with(RequestConfiguration()) { $0.pathTemplates = ["/users/{name}"] }
    let registry = Registry()
    let recorder = try RequestRecorder(registry: registry, outbound: outbound, inbound: inbound)
    recorder.outbound.begin(client: "shop", method: "GET", url: "http://a/users/42?x=y", urlTemplate: said)
      .end(statusCode: 200)
    recorder.inbound.begin(method: "GET", path: "/users/42?x=y").end(statusCode: 200, route: said)
    let count = { registry.value(of: $0, labels: [$1: $2]) }
    #expect(count("http_client_request_duration_seconds_count", "url_template", template) == 1)
    #expect(count("http_server_request_duration_seconds_count", "http_route", route) == 1)
  }
}
