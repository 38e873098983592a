import SessionTap
import TestSupport

/// The table: the tap itself, its sessions, and what its requests say of themselves.
extension ExtremeTrial {
  static let all =
    tap + sessions + templates + metrics + inbound + outbound + families + instruments + collected + log
    + logQueries + observations + endpoint + limits + pushes

  private static var tap: [Self] {
    let environment = [
      "OTEL_EXPORTER_PROMETHEUS_HOST", "OTEL_EXPORTER_PROMETHEUS_PORT", "OTEL_SERVICE_NAME",
      "OTEL_RESOURCE_ATTRIBUTES", "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", "SESSION_TAP_LOG",
      "SESSION_TAP_ALLOW_NETWORK", "SESSION_TAP_UNKNOWN",
    ].flatMap { variable in
      let values =
        String.extremes + Int.extremes.map { ($0.name, String($0.value)) }
        + [(",", ","), ("=", "="), ("many elements", String(repeating: "a=b,", count: manyElements))]
      return start(
        "Tap.Configuration.init(environment:)", at: values.map { ("\(variable): \($0.name)", $0.value) }
      ) { setup, value in
        let port = ["OTEL_EXPORTER_PROMETHEUS_PORT": "0"]
        setup.configuration = Tap.Configuration(environment: port.merging([variable: value]) { $1 })
        setup.logging = setup.configuration.logging
        setup.endpoint = setup.configuration.endpoint ?? setup.endpoint
        // The port by default may be in use.
        if variable == "OTEL_EXPORTER_PROMETHEUS_PORT" { setup.endpoint.address = .loopback(port: 0) }
        setup.logFile = variable == "SESSION_TAP_LOG" ? value : ""
      }
    }
    return environment
      + start("Tap.Configuration.knownMethods", at: [String].extremes) { $0.configuration.knownMethods = $1 }
      + start("Tap.Configuration.observers", at: [("many", manyElements)]) {
        $0.configuration.observers = Array(repeating: CallingObserver(), count: $1)
      }
      + start("Tap.Configuration.traceSamplingRate", at: Double.extremes) {
        $0.configuration.traceSamplingRate = $1
      }
      + start("Tap.Configuration.shutdownTimeout") { $0.configuration.shutdownTimeout = $1 }
      + start("TargetInfo.init(serviceName:resourceAttributes:)", at: String.extremes) {
        $0.configuration.target = TargetInfo(serviceName: $1, resourceAttributes: $1)
      }
      + use("TargetInfo.init(serviceName:resourceAttributes:)", at: [String].extremes) {
        let attributes = $1.map { "\($0)=\($0),%=%\($0)" }.joined(separator: ",")
        try $0.registry.register(TargetInfo(serviceName: nil, resourceAttributes: attributes))
      }
      + use("Tap.flush(within:)") { run, limit in
        let isDone = await run.tap.flush(within: limit)
        try run.expect(isDone || limit < .seconds(1), "the flush has not ended in time")
      }
      + use("Tap.activeRequests(olderThan:)") { run, age in
        let request = run.tap.inbound.begin(method: "GET", path: "/old")
        let isListed = run.tap.activeRequests(olderThan: age).contains { $0.request.url == "/old" }
        try run.expect(isListed || age > .zero, "an active request is not listed")
        request.end(statusCode: 200)
      }
      + use("Tap.log(_:_:_:)") { $0.tap.log(.info, $1 as String) }
      + use("Tap.log(_:_:_:)") { $0.tap.log(.info, "", $1) }
  }

  private static var sessions: [Self] {
    use("Tap.sessionConfiguration(from:client:)", requests: 1) {
      try await $0.request($0.session(client: $1 as String))
    }
      + use("Tap.session(client:configuration:delegate:delegateQueue:)", requests: 1) { run, client in
        try await run.request(run.tap.session(client: client as String, configuration: .ephemeral))
      }
      + use("Tap.sessionConfiguration(from:client:)", at: [("1,000 clients", 1_000)]) { run, count in
        for n in 0..<count { _ = run.tap.sessionConfiguration(from: .ephemeral, client: "\(n)") }
      }
      + use("Tap.install(on:client:)", requests: 1) { run, client in
        let session = URLSession(configuration: .ephemeral)
        run.tap.install(on: session, client: client as String)
        try await run.request(session)
      }
      + use("TapRequestContext.urlTemplate", requests: 1) {
        try await $0.request($0.session(), context: TapRequestContext(urlTemplate: $1))
      }
      + use("TapRequestContext.fields", requests: 1) {
        try await $0.request($0.session(), context: TapRequestContext(fields: $1))
      }
      + use("TraceContext.init(traceparent:tracestate:span:)", requests: 2) {
        let valid = TraceContext.random().traceparent
        for trace in [
          TraceContext(traceparent: $1, tracestate: $1), TraceContext(traceparent: valid, tracestate: $1),
        ] {
          try await $0.request($0.session(), context: TapRequestContext(traceContext: trace))
        }
      }  // A challenge that is not answered, for it is the time until it is reported.
      + start("RequestConfiguration.waitingExemptions", at: [String].extremes) {
        $0.configuration.outbound.waitingExemptions = Set($1)
      }
      + start("RequestConfiguration.waitingLimit", at: Duration?.extremes) { setup, limit in
        setup.configuration.outbound.waitingLimit = limit
        setup.requests = 2
      } then: { run in
        let session = run.session(client: "waits")
        let done = Gate()
        let task = session.dataTask(with: run.origin.url("/challenge")) { _, _, _ in done.open() }
        task.resume()
        _ = try await Poll.until("response") { task.response }
        task.cancel()
        try await done.wait("the end of a challenged task")
        session.finishTasksAndInvalidate()
      }
  }

  private static var templates: [Self] {
    let few: NamedValues<[String]> = [
      ("only a star", ["*"]), ("a colon for a brace", ["/users/:id"]), ("an open brace", ["/users/{id"]),
    ]
    let many: NamedValues<[String]> = [
      ("many segments", [String(repeating: "/a", count: manyElements)]),
      ("many parameters", (0..<10_000).map { "/users/{id\($0)}" }),
      ("many", (0..<10_000).map { "/\($0)/{a}" } + ["/" + String(repeating: "m", count: manyElements)]),
    ]
    return start(
      "PathTemplates.init(_:)", at: String.extremes.map { ($0.name, [$0.value, "/" + $0.value]) } + few
    ) {
      $0.configuration.outbound.pathTemplates = PathTemplates($1)
      $0.configuration.inbound.pathTemplates = PathTemplates($1)
      $0.logging.redaction.allowedPaths = PathTemplates($1)
    }
      + use("PathTemplates.init(_:)", at: many) { run, paths in
        let templates = PathTemplates(paths)
        try templates.validate()
        let last = paths.last ?? ""
        let found = templates.template(for: last)
        try run.expect(found == last || paths.count < 10_001, "\(found ?? "nothing") is found")
        if paths.count == 10_001 {
          try run.expect(templates.template(for: "/9999/1") == "/9999/{a}", "/9999/1 is not found")
        }
        for text in String.extremes { _ = templates.template(for: text.value) }
      }
      + use("PathTemplates.template(for:)") { _, path in
        _ = PathTemplates(["/users/{id}", "/*"]).template(for: path as String)
      }
  }

}
