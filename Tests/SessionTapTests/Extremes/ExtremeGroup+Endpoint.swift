import SessionTap
import TestSupport

/// The endpoint: where it listens, who may read, its limits, its routes and what they answer.
extension ExtremeGroup {
  static var endpointExtremes: [Extreme] {
    let addresses =
      Extreme.each("EndpointAddress.tcp(host:port:)", Extremes.strings + [("a NUL behind", "127.0.0.1\0b")]) {
        $0.configuration.endpoint?.address = .tcp(host: $1, port: 0)
      }
      // Its own port by number may be in use.
      + Extreme.each("EndpointAddress.tcp(host:port:)", Extremes.integers + [("65536", 65_536)]) {
        $0.configuration.endpoint?.address = .tcp(host: "127.0.0.1", port: $1)
      }
      + Extreme.each("EndpointAddress.loopback(port:)", Extremes.integers) {
        $0.configuration.endpoint?.address = .loopback(port: $1)
      }
      + Extreme.each("EndpointAddress.unix(path:)", Extremes.strings) {
        $0.configuration.endpoint?.address = .unix(path: $1)
      }
      + Extreme.each("EndpointAddress.activated(name:)", Extremes.optional(Extremes.strings)) {
        $0.configuration.endpoint?.address = .activated(name: $1)
      }
    let access =
      Extreme.each("Endpoint.Configuration.Access.bearerTokenFile", Extremes.strings) {
        $0.configuration.endpoint?.access.bearerTokenFile = $1
      }
      + Extreme.each("Endpoint.Configuration.Access.basicPasswordFile", Extremes.strings) {
        $0.configuration.endpoint?.access.basicPasswordFile = $1
      }
      + Extreme.each("Endpoint.Configuration.Access.openPaths", Extremes.sets) {
        $0.configuration.endpoint?.access.openPaths = $1
        $0.paths = ["/healthz"]
      }
    let readiness =
      Extreme.each("Readiness.add(_:_:)", Extremes.strings) { trial, text in
        trial.configuration.readiness.add(text) { text }
        trial.paths = ["/readyz"]
      }
      + Extreme.each("Readiness.remove(_:)", Extremes.strings) { $0.configuration.readiness.remove($1) }
    return addresses + access + readiness + routes
      + Extreme.eachWhileRunning("Endpoint.shutdown(within:)", Extremes.durations) { running, time in
        let endpoint = Endpoint(configuration: .init(address: .loopback(port: 0)), routes: [.liveness()])
        try endpoint.start()
        await endpoint.shutdown(within: time)
      }
  }

  private static var routes: [Extreme] {
    func each(
      _ function: String, _ make: @escaping @Sendable (ExtremeTrial.Running, String) throws -> EndpointRoute
    ) -> [Extreme] {
      Extreme.eachWhileRunning("EndpointRoute.\(function)", Extremes.strings) { running, path in
        let endpoint = Endpoint(
          configuration: .init(address: .loopback(port: 0)), routes: [try make(running, path)])
        try endpoint.start()
        await endpoint.shutdown(within: .seconds(5))
      }
    }
    let lists: Extremes.Values<[EndpointRoute]> = [
      ("no element", []), ("100,000 elements", (0..<100_000).map { .liveness(at: "/route-\($0)") }),
      ("100,000 of one path", (0..<100_000).map { _ in .liveness(at: "/route") }),
      ("100,000 of what is below", (0..<100_000).map { .liveness(at: "/route-\($0)/*") }),
    ]
    return Extreme.each("Tap.Configuration.routes", lists) {
      $0.configuration.routes = $1
      $0.paths = ["/route", "/none"]
    }
      + each("init(_:methods:handler:)") {
        EndpointRoute($1, methods: [EndpointMethod(rawValue: $1)]) { _ in .text("") }
      }
      + each("init(_:methods:immediate:)") { EndpointRoute($1, methods: [], immediate: { _ in .text("") }) }
      + each("liveness(at:)") { .liveness(at: $1) }
      + each("metrics(of:at:)") { _, path in try .metrics(of: Registry(), at: path) }
      + each("page(at:showsLog:)") { .page(at: $1, showsLog: true) }
      + each("readiness(_:at:)") { .readiness(Readiness(), at: $1) }
      + each("logs(of:at:)") { .logs(of: try RequestLog(to: .memory), at: $1) }
      + Extreme.each("EndpointMethod.init(rawValue:)", Extremes.strings) {
        $0.configuration.routes = [
          EndpointRoute("/extreme", methods: [EndpointMethod(rawValue: $1)], immediate: { _ in .text("") })
        ]
        // The answer names the methods that the path takes.
        $0.paths = ["/extreme"]
      }
  }

  static var limitExtremes: [Extreme] {
    typealias Limits = Endpoint.Configuration.Limits
    func each<Value: Sendable>(
      _ name: String, _ values: Extremes.Values<Value>,
      _ change: @escaping @Sendable (inout Limits, Value) -> Void
    ) -> [Extreme] {
      Extreme.each("Endpoint.Configuration.Limits.\(name)", values) { trial, value in
        var limits = Limits()
        change(&limits, value)
        trial.configuration.endpoint?.limits = limits
      }
    }
    return each("answerDeadline", Extremes.durations) { $0.answerDeadline = $1 }
      + each("bodyDeadline", Extremes.durations) { $0.bodyDeadline = $1 }
      + each("headDeadline", Extremes.durations) { $0.headDeadline = $1 }
      + each("idleDeadline", Extremes.durations) { $0.idleDeadline = $1 }
      + each("writeDeadline", Extremes.durations) { $0.writeDeadline = $1 }
      + each("bodyBytes", Extremes.integers) { $0.bodyBytes = $1 }
      + each("connections", Extremes.integers) { $0.connections = $1 }
      + each("headBytes", Extremes.integers) { $0.headBytes = $1 }
      + each("headerCount", Extremes.integers) { $0.headerCount = $1 }
      + each("pipelinedRequests", Extremes.integers) { $0.pipelinedRequests = $1 }
      + each("requestsInFlight", Extremes.integers) { $0.requestsInFlight = $1 }
  }

  /// What the app's own routes are asked and answer.
  static var messageExtremes: [Extreme] {
    func answer<Value: Sendable>(
      _ setting: String, _ values: Extremes.Values<Value>,
      _ make: @escaping @Sendable (Value) -> EndpointResponse
    ) -> [Extreme] {
      Extreme.each(setting, values) { trial, value in
        trial.configuration.routes = [
          EndpointRoute("/immediate", immediate: { _ in make(value) }),
          EndpointRoute("/later", handler: { _ in make(value) }),
        ]
        trial.paths = ["/immediate", "/later"]
      }
    }
    func ask<Value: Sendable>(
      _ property: String, _ values: Extremes.Values<Value>,
      _ change: @escaping @Sendable (inout EndpointRequest, Value) -> Void
    ) -> [Extreme] {
      Extreme.eachWhileRunning("EndpointRequest.\(property)", values) {
        var request = EndpointRequest(path: "/")
        change(&request, $1)
        _ = request.queryItems
        _ = request.hashValue
      }
    }
    let bytes: Extremes.Values<[UInt8]> = [
      ("no element", []), ("1,000,000 elements", Array(repeating: 0, count: 1_000_000)),
    ]
    let headers = Extremes.strings
    // Foundation's client, which asks here, ends the process at a length of Int.max.
    let lengths = Extremes.optional(Extremes.integers.filter { $0.value < .max })
    return answer("EndpointStatus.init(rawValue:)", Extremes.integers) {
      EndpointResponse(status: EndpointStatus(rawValue: $0), body: .bytes([1]))
    }
      + answer("EndpointHeaders.add(_:_:)", headers) {
        var response = EndpointResponse.text("text")
        response.headers.add($0, "value")
        response.headers.add("X-Value", $0)
        return response
      }
      + answer("EndpointHeaders.Field.name", headers) { EndpointResponse(headers: [$0: "value"]) }
      + answer("EndpointHeaders.Field.value", headers) { EndpointResponse(headers: ["Content-Length": $0]) }
      + answer("EndpointHeaders.values(of:)", headers) {
        let headers: EndpointHeaders = [$0: $0]
        return .text(headers.values(of: $0).joined())
      }
      + answer("EndpointResponse.text(_:status:)", Extremes.strings) { .text($0) }
      + answer("EndpointResponse.Body.bytes(_:)", bytes) { EndpointResponse(body: .bytes($0)) }
      + answer("EndpointResponse.Body.stream(length:_:)", lengths) { length in
        EndpointResponse(body: .stream(length: length) { try await $0.write([1, 2, 3]) })
      }
      + ask("authority", Extremes.strings) { $0.authority = $1 }
      + ask("body", bytes) { $0.body = $1 }
      + ask("minorVersion", Extremes.integers) { $0.minorVersion = $1 }
      + ask("path", Extremes.strings) { $0.path = $1 }
      + ask("query", Extremes.strings + [("100,000 elements", String(repeating: "a=%zz&", count: 100_000))]) {
        $0.query = $1
      }
      + ask("target", Extremes.strings) { $0.target = $1 }
  }
}
