import SessionTap
import TestSupport

/// The table: the tap itself, its sessions, its endpoint and its pushes.
extension ExtremeTrial {
  @Table static var tap: [Self] {
    change(\.self, \.traceSamplingRate, \.shutdownTimeout)
    start("Tap.Configuration.serviceName", at: String.extremes) { $0.configuration.serviceName = $1 }
    for name in [
      "OTEL_EXPORTER_PROMETHEUS_HOST", "OTEL_EXPORTER_PROMETHEUS_PORT", "OTEL_SERVICE_NAME",
      "OTEL_RESOURCE_ATTRIBUTES", "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", "SESSION_TAP_LOG",
      "SESSION_TAP_ALLOW_NETWORK", "SESSION_TAP_UNKNOWN",
    ] {
      variable(name)
    }
    start("Tap.Configuration.observers", at: [("many", manyElements)]) {
      $0.configuration.observers = Array(repeating: CallingObserver(), count: $1)
    }
    start("Tap.Configuration.blackBox", at: String.extremes) { $0.configuration.blackBox = "/nowhere/\($1)" }
    use("Tap.flush(within:)") { run, limit in
      let isDone = await run.tap.flush(within: limit)
      try run.expect(isDone || limit < .seconds(1), "the flush has not ended in time")
    }
    use("Tap.activeRequests(olderThan:)") { run, age in
      let request = run.tap.inbound.begin(method: "GET", path: "/old")
      let isListed = run.tap.activeRequests(olderThan: age).contains { $0.request.url == "/old" }
      try run.expect(isListed || age > .zero, "an active request is not listed")
      request.end(statusCode: 200)
    }
    use("Tap.log") { $0.tap.log(.info, $1 as String) }
    use("Tap.log") { $0.tap.log(.info, "", $1) }
  }

  private static func variable(_ name: String) -> [Self] {
    let numbers: NamedValues<String> = Int.extremes.map { ($0.name, String($0.value)) }
    let lists = [(",", ","), ("=", "="), ("many elements", String(repeating: "a=b,", count: manyElements))]
    let values = (String.extremes + numbers + lists).map { ("\(name): \($0.name)", $0.value) }
    return start("Tap.Configuration.init(environment:)", at: values) {
      let port = ["OTEL_EXPORTER_PROMETHEUS_PORT": "0"]
      $0.configuration = Tap.Configuration(environment: port.merging([name: $1]) { $1 })
      // The port by default may be in use.
      if port[name] != nil { $0.configuration.endpoint?.address = .loopback(port: 0) }
    }
  }

  @Table static var sessions: [Self] {
    use("Tap.sessionConfiguration", requests: 1) { try await $0.request($0.session(client: $1 as String)) }
    use("Tap.session(", requests: 1) { run, client in
      try await run.request(run.tap.session(client: client as String, configuration: .ephemeral))
    }
    use("Tap.sessionConfiguration", at: [("1,000 clients", 1_000)]) { run, count in
      for n in 0..<count { _ = run.tap.sessionConfiguration(from: .ephemeral, client: "\(n)") }
    }
    use("Tap.install", requests: 1) { run, client in
      let session = URLSession(configuration: .ephemeral)
      run.tap.install(on: session, client: client as String)
      try await run.request(session)
    }
    use("TapRequestContext.urlTemplate", requests: 1) {
      try await $0.request($0.session(), context: TapRequestContext(urlTemplate: $1))
    }
    use("TapRequestContext.fields", requests: 1) {
      try await $0.request($0.session(), context: TapRequestContext(fields: $1))
    }
    use("TraceContext.init(traceparent:tracestate:span:)", requests: 2) {
      for parent in [$1, TraceContext.random().traceparent] {
        let trace = TraceContext(traceparent: parent, tracestate: $1)
        try await $0.request($0.session(), context: TapRequestContext(traceContext: trace))
      }
    }
    start("PathTemplates.init(_:)", at: templates) {
      $0.configuration.outbound.pathTemplates = PathTemplates($1)
      $0.configuration.inbound.pathTemplates = PathTemplates($1)
      $0.configuration.logging.redaction.allowedPaths = PathTemplates($1)
    }
  }

  private static var templates: NamedValues<[String]> {
    let few: NamedValues<[String]> = [
      ("only a star", ["*"]), ("a colon for a brace", ["/users/:id"]), ("an open brace", ["/users/{id"]),
      ("many segments", [String(repeating: "/a", count: manyElements)]),
      ("many parameters", (0..<10_000).map { "/users/{id\($0)}" }),
      ("many", (0..<10_000).map { "/\($0)/{a}" } + ["/" + String(repeating: "m", count: manyElements)]),
    ]
    return String.extremes.map { ($0.name, [$0.value, "/" + $0.value]) } + few
  }

  @Table static var endpoint: [Self] {
    let hosts = String.extremes + ["127.0.0.1\0b", "[", "[]", "[::1", "a b"].map { ($0, $0) }
    let ports = Int.extremes + [("65536", 65_536)]
    serve(\.access, \.bearerTokenFile, \.basicPasswordFile, \.openPaths, \.allowedHosts)
    serve(\.limits, \.answerTimeout, \.connections, \.requestsInFlight)
    use("EndpointAddress.tcp(host:port:)", at: hosts) { try await $0.serve(.tcp(host: $1, port: 0)) }
    use("EndpointAddress.tcp(host:port:)", at: ports) {
      try await $0.serve(.tcp(host: "127.0.0.1", port: $1))
    }
    use("EndpointAddress.loopback", at: ports) { try await $0.serve(.loopback(port: $1)) }
    use("Endpoint.shutdown") { try await $0.serve(within: $1) }
  }

  private static func serve<Owner, each Value: Extremal>(
    _ owner: any WritableKeyPath<Endpoint.Configuration, Owner> & Sendable,
    _ settings: repeat (any WritableKeyPath<Owner, each Value> & Sendable)
  ) -> [Self] {
    properties(of: Owner.self, repeat each settings) { setting, changes in
      use(setting, at: changes) { run, change in try await run.serve { change(&$0[keyPath: owner]) } }
    }
  }

  @Table static var pushes: [Self] {
    let ports = ["0", "65536", "\(Int.max)", String(repeating: "9", count: 100)].map { ("port \($0)", $0) }
    gateway { try PushGateway($1, job: "backup") }
    gateway { try PushGateway("http://\($1):1", job: "backup") }
    gateway(at: ports) { try PushGateway("http://127.0.0.1:\($1)", job: "backup") }
    gateway { try PushGateway("\($0)/\($1)", job: "backup") }
    gateway { try PushGateway($0, job: $1) }
    gateway { try PushGateway($0, job: "backup", grouping: [$1: "a"]) }
    gateway { try PushGateway($0, job: "backup", grouping: ["a": $1]) }
    use("Tap.push(to:within:)") { run, limit in
      let gateway = try PushGateway("http://127.0.0.1:\(run.origin.port)", job: "backup")
      try await run.tap.push(to: gateway, within: limit)
    }
  }

  private static func gateway(
    at values: NamedValues<String> = String.extremes,
    _ make: @escaping @Sendable (_ url: String, String) throws -> PushGateway
  ) -> [Self] {
    use("PushGateway.init", at: values) { run, text in
      let url = "http://127.0.0.1:\(run.origin.port)"
      try await run.tap.push(to: make(url, text), within: .milliseconds(100))
    }
  }
}
