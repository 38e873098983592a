import SessionTap
import TestSupport

/// The table: the endpoint, its routes and what they answer, and pushes.
extension ExtremeTrial {
  static var endpoint: [Self] {
    /// The endpoint says with this error why it does not start there.
    func listen<Value: Sendable>(
      _ setting: String, at values: NamedValues<Value>, refusedAs code: EndpointError.Code,
      _ make: @escaping @Sendable (Value) -> EndpointAddress
    ) -> [Self] {
      use("EndpointAddress.\(setting)", at: values) { run, value in
        do {
          try await run.serveAll(by: .init(address: make(value)))
          try run.expect(false, "the address is not refused")
        } catch let error as EndpointError { try run.expect(error.code == code, "\(error)") }
      }
    }
    let hosts = String.extremes + ["127.0.0.1\0b", "[", "[]", "[::1", "a b"].map { ($0, $0) }
    // 1 may be in use or not allowed, and 0 is any.
    let invalid = EndpointError.Code.invalidConfiguration
    let ports = Int.extremes.filter { !(0...1).contains($0.value) } + [("65536", 65_536)]
    let access = properties(
      of: Endpoint.Configuration.Access.self, \.bearerTokenFile, \.basicPasswordFile, \.openPaths,
      \.allowedHosts
    ) { setting, changes in
      use(setting, at: changes) { run, change in
        var configuration = Endpoint.Configuration(address: .loopback(port: 0))
        change(&configuration.access)
        try await run.serveAll(by: configuration, or: .invalidConfiguration, .noCredentials)
      }
    }
    return access
      + listen("tcp(host:port:)", at: hosts, refusedAs: .addressNotAvailable) { .tcp(host: $0, port: 0) }
      + listen("tcp(host:port:)", at: ports, refusedAs: invalid) { .tcp(host: "127.0.0.1", port: $0) }
      + listen("loopback(port:)", at: ports, refusedAs: invalid) { .loopback(port: $0) }
      + use("Endpoint.shutdown(within:)") { try await $0.serve(within: $1) }
  }

  private static func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n" }

  /// A limit out of its range is refused, and any other holds.
  static var limits: [Self] {
    let requests = [
      get("/healthz"), post("Content-Length: \(Int.max)\r\n\r\nx"),
      post("Content-Length: 99999999999999999999\r\n\r\nx"),
      post("Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nx"),
    ]
    return properties(
      of: Endpoint.Configuration.Limits.self, \.answerTimeout, \.headTimeout,
      \.idleTimeout, \.writeTimeout, \.connections, \.headBytes, \.headerCount,
      \.requestsInFlight, \.unsentBytes
    ) { setting, changes in
      use(setting, at: changes) { run, change in
        var configuration = Endpoint.Configuration(address: .loopback(port: 0))
        change(&configuration.limits)
        try await run.serveAll([.liveness()], by: configuration, requests, or: .invalidConfiguration)
      }
    }
  }

  private static func post(_ rest: String) -> String { "POST / HTTP/1.1\r\nHost: localhost\r\n\(rest)" }
}
