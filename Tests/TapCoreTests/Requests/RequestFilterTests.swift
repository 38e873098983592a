import TestSupport

/// Which requests are recorded, whoever makes or serves them.
@Suite struct RequestFilterTests {
  static func request(_ url: String, method: String = "GET", client: String = "shop") -> RequestDescription {
    RequestDescription(client: client, method: method, url: url, serverAddress: URLAuthority(url)?.host)
  }

  @Test(arguments: [
    ("http://a.test/", true), ("https://B.Test:8443/x?y", true), ("http://a.test.evil/", false),
    ("http://sub.a.test/", false), ("file:///a.test", false),
  ])
  func `hosts are compared whole and without case`(url: String, isIncluded: Bool) {
    let filter = RequestFilter.hosts(["A.test", "b.test"])
    #expect(filter.includes(Self.request(url)) == isIncluded)
    #expect((!filter).includes(Self.request(url)) != isIncluded)
  }

  @Test(arguments: [
    ("http://a.test/api", true), ("http://a.test/api/users?x=/health", true), ("http://a.test/%61pi", true),
    ("http://a.test/health", false), ("http://a.test", false), ("/api/served?x", true),
    ("/served?/api", false), ("", false), ("http://a.test/apiary", true),
    ("http://a.test/v2/x", true), ("http://a.test/v2", false), ("http://a.test/x/api", false),
  ])
  func `paths are compared from their beginning`(url: String, isIncluded: Bool) {
    #expect(RequestFilter.paths(["/api", "/v2/"]).includes(Self.request(url)) == isIncluded)
  }

  @Test(arguments: [
    ("GET", "http://a.test/", false), ("POST", "http://a.test/", true), ("POST", "http://b.test/", false),
  ])
  func `filters combine`(method: String, url: String, isIncluded: Bool) {
    let filter = RequestFilter.hosts(["a.test"]).and(RequestFilter { $0.method == "POST" })
    #expect(filter.includes(Self.request(url, method: method)) == isIncluded)
    #expect(RequestFilter.all.includes(Self.request(url, method: method)))
  }

  @Test(arguments: RequestDirection.allCases)
  func `what is not chosen is not counted, and has its trace`(direction: RequestDirection) throws {
    let options = with(RequestConfiguration()) { $0.filter = .paths(["/chosen"]) }
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
