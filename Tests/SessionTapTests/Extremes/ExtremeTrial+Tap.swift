import SessionTap
import TestSupport

/// The table: the tap itself, its sessions, its endpoint and its pushes.
extension ExtremeTrial {
  static var tap: [Self] {
    func variable(_ name: String) -> [Self] {
      let numbers: NamedValues<String> = Int.extremes.map { ($0.name, String($0.value)) }
      let lists: NamedValues<String> = [
        (",", ","), ("=", "="), ("many elements", String(repeating: "a=b,", count: manyElements)),
      ]
      let values = String.extremes + numbers + lists
      return start(
        "Tap.Configuration.init(environment:)", at: values.map { ("\(name): \($0.name)", $0.value) }
      ) {
        let port = ["OTEL_EXPORTER_PROMETHEUS_PORT": "0"]
        $0.configuration = Tap.Configuration(environment: port.merging([name: $1]) { $1 })
        // The port by default may be in use.
        if port[name] != nil { $0.configuration.endpoint?.address = .loopback(port: 0) }
        $0.logFile = name == "SESSION_TAP_LOG" ? $1 : ""
      }
    }
    return table {
      variable("OTEL_EXPORTER_PROMETHEUS_HOST")
      variable("OTEL_EXPORTER_PROMETHEUS_PORT")
      variable("OTEL_SERVICE_NAME")
      variable("OTEL_RESOURCE_ATTRIBUTES")
      variable("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS")
      variable("SESSION_TAP_LOG")
      variable("SESSION_TAP_ALLOW_NETWORK")
      variable("SESSION_TAP_UNKNOWN")
      let target = "TargetInfo.init(serviceName:resourceAttributes:)"
      start("Tap.Configuration.observers", at: [("many", manyElements)]) {
        $0.configuration.observers = Array(repeating: CallingObserver(), count: $1)
      }
      start("Tap.Configuration.traceSamplingRate", at: Double.extremes) {
        $0.configuration.traceSamplingRate = $1
      }
      start("Tap.Configuration.shutdownTimeout", at: Duration.extremes) {
        $0.configuration.shutdownTimeout = $1
      }
      start("Tap.Configuration.serviceName", at: String.extremes) { $0.configuration.serviceName = $1 }
      start("Tap.Configuration.blackBox", at: String.extremes) {
        $0.configuration.blackBox = "/nowhere/\($1)"
      }
      start(target, at: String.extremes) {
        $0.configuration.target = TargetInfo(serviceName: $1, resourceAttributes: $1)
      }
      use(target, at: [String].extremes) {
        let attributes = $1.map { "\($0)=\($0),%=%\($0)" }.joined(separator: ",")
        try $0.registry.register(TargetInfo(serviceName: nil, resourceAttributes: attributes))
      }
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
  }

  static var sessions: [Self] {
    return table {
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
        let valid = TraceContext.random().traceparent
        for trace in [
          TraceContext(traceparent: $1, tracestate: $1), TraceContext(traceparent: valid, tracestate: $1),
        ] {
          try await $0.request($0.session(), context: TapRequestContext(traceContext: trace))
        }
      }
      start("RequestConfiguration.waitingExemptions", at: [String].extremes) {
        $0.configuration.outbound.waitingExemptions = Set($1)
      }
      // A challenge that is not answered, for it is the time until it is reported.
      start("RequestConfiguration.waitingLimit", at: Duration?.extremes) { setup, limit in
        setup.configuration.outbound.waitingLimit = limit
        setup.requests = 2
      } then: { run in
        let (session, done) = (run.session(client: "waits"), Gate())
        let task = session.dataTask(with: run.origin.url("/challenge")) { _, _, _ in done.open() }
        task.resume()
        _ = try await Poll.until("response") { task.response }
        task.cancel()
        try await done.wait("the end of a challenged task")
        session.finishTasksAndInvalidate()
      }
    }
  }

  static var templates: [Self] {
    let few: NamedValues<[String]> = [
      ("only a star", ["*"]), ("a colon for a brace", ["/users/:id"]), ("an open brace", ["/users/{id"]),
    ]
    let many: NamedValues<[String]> = [
      ("many segments", [String(repeating: "/a", count: manyElements)]),
      ("many parameters", (0..<10_000).map { "/users/{id\($0)}" }),
      ("many", (0..<10_000).map { "/\($0)/{a}" } + ["/" + String(repeating: "m", count: manyElements)]),
    ]
    let texts = String.extremes.map { ($0.name, [$0.value, "/" + $0.value]) }
    return table {
      start("PathTemplates.init(_:)", at: texts + few) {
        $0.configuration.outbound.pathTemplates = PathTemplates($1)
        $0.configuration.inbound.pathTemplates = PathTemplates($1)
        $0.configuration.logging.redaction.allowedPaths = PathTemplates($1)
      }
      use("PathTemplates.init(_:)", at: many) { run, paths in
        let templates = PathTemplates(paths)
        try templates.validate()
        let found = templates.template(forURL: paths.last ?? "")
        try run.expect(found == paths.last || paths.count < 10_001, "\(found ?? "nothing") is found")
        if paths.count == 10_001 {
          try run.expect(templates.template(forURL: "/9999/1") == "/9999/{a}", "/9999/1 is not found")
        }
        for text in String.extremes { _ = templates.template(forURL: text.value) }
      }
    }
  }

  /// The endpoint says why it does not start. A limit out of its range is refused, and any other holds.
  static var endpoint: [Self] {
    func refuse<Value: Sendable>(
      _ setting: String, at values: NamedValues<Value>, as code: EndpointError.Code,
      _ configure: @escaping @Sendable (inout Endpoint.Configuration, Value) -> Void
    ) -> [Self] {
      use(setting, at: values) { run, value in
        let configuration = with(Endpoint.Configuration()) { configure(&$0, value) }
        do {
          _ = try Endpoint(configuration: configuration, routes: [.liveness()]).start()
          try run.expect(false, "it is not refused")
        } catch let error as EndpointError { try run.expect(error.code == code, "\(error)") }
      }
    }
    func each<Owner, each Value: Extremal>(
      _ owner: any WritableKeyPath<Endpoint.Configuration, Owner> & Sendable, _ requests: [String],
      _ settings: repeat (any WritableKeyPath<Owner, each Value> & Sendable)
    ) -> [Self] {
      properties(of: Owner.self, repeat each settings) { setting, changes in
        use(setting, at: changes) { run, change in
          var configuration = Endpoint.Configuration(address: .loopback(port: 0))
          change(&configuration[keyPath: owner])
          try await run.serve(by: configuration, requests, or: [.invalidConfiguration, .noCredentials])
        }
      }
    }
    let hosts = String.extremes + ["127.0.0.1\0b", "[", "[]", "[::1", "a b"].map { ($0, $0) }
    // 1 may be in use or not allowed, and 0 is any.
    let ports = Int.extremes.filter { !(0...1).contains($0.value) } + [("65536", 65_536)]
    let lengths = [
      "Content-Length: \(Int.max)\r\n\r\nx", "Content-Length: 99999999999999999999\r\n\r\nx",
      "Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nx",
    ]
    let requests = lengths.map { "POST / HTTP/1.1\r\nHost: localhost\r\n\($0)" }
    let get = RunningExtreme.get("/healthz")
    return table {
      each(\.access, [get], \.bearerTokenFile, \.basicPasswordFile, \.openPaths, \.allowedHosts)
      each(
        \.limits, [get] + requests, \.answerTimeout, \.connections, \.requestsInFlight)
      let tcp = "EndpointAddress.tcp(host:port:)"
      refuse(tcp, at: hosts, as: .addressNotAvailable) { $0.address = .tcp(host: $1, port: 0) }
      refuse(tcp, at: ports, as: .invalidConfiguration) { $0.address = .tcp(host: "127.0.0.1", port: $1) }
      refuse("EndpointAddress.loopback", at: ports, as: .invalidConfiguration) {
        $0.address = .loopback(port: $1)
      }
      refuse("Endpoint.Configuration.port", at: ports, as: .invalidConfiguration) { $0.port = $1 }
      use("Endpoint.shutdown") { try await $0.serve(by: .init(address: .loopback(port: 0)), within: $1) }
    }
  }

  static var pushes: [Self] {
    func gateway(
      at values: NamedValues<String> = String.extremes,
      _ make: @escaping @Sendable (_ url: String, String) throws -> PushGateway
    ) -> [Self] {
      use("PushGateway.init", at: values) { run, text in
        let url = "http://127.0.0.1:\(run.origin.port)"
        try await run.tap.push(to: make(url, text), within: .milliseconds(100))
      }
    }
    let ports = ["0", "65536", "\(Int.max)", String(repeating: "9", count: 100)].map { ("port \($0)", $0) }
    return table {
      gateway { try PushGateway($1, job: "backup") }
      gateway { try PushGateway("http://\($1):1", job: "backup") }
      gateway(at: ports) { try PushGateway("http://127.0.0.1:\($1)", job: "backup") }
      gateway { try PushGateway("\($0)/\($1)", job: "backup") }
      gateway { try PushGateway($0, job: $1) }
      gateway { try PushGateway($0, job: "backup", grouping: [$1: "a"]) }
      gateway { try PushGateway($0, job: "backup", grouping: ["a": $1]) }
      use("Tap.push(to:within:)") { run, limit in
        let gateway = try PushGateway("http://127.0.0.1:\(run.origin.port)", job: "backup")
        do {
          try await run.tap.push(to: gateway, within: limit)
          try run.expect(limit > .zero, "it takes no time")
        } catch let error as TapError {
          try run.expect(error.code == .push && limit < .seconds(1), "\(error)")
        }
      }
    }
  }
}
