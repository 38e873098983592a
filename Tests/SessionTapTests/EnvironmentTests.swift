import SessionTap
import Testing

/// The environment variables of a tap.
@Suite struct EnvironmentTests {
  @Test func `without variables the defaults hold`() {
    let configuration = Tap.Configuration(environment: [:])
    #expect(configuration.endpoint?.address == .loopback(port: 9464))
    #expect(configuration.log == nil)
    #expect(configuration.warnings.isEmpty)
  }

  @Test func `the address comes from the variables`() {
    let configuration = Tap.Configuration(environment: [
      "OTEL_EXPORTER_PROMETHEUS_HOST": "0.0.0.0", "OTEL_EXPORTER_PROMETHEUS_PORT": "9999",
    ])
    #expect(configuration.endpoint?.address == .tcp(host: "0.0.0.0", port: 9999))
  }

  @Test(arguments: [
    ("[::1]", "::1"), ("::1", "::1"), ("[fe80::1%eth0]", "fe80::1%eth0"), ("10.0.0.7", "10.0.0.7"),
    ("metrics.internal", "metrics.internal"), ("web_1", "web_1"), ("host.example.", "host.example."),
    ("", "127.0.0.1"), ("localhost", "127.0.0.1"), ("LOCALHOST", "127.0.0.1"),
  ])
  func `a host is an address, in brackets too, or a name`(value: String, host: String) {
    let configuration = Tap.Configuration(environment: ["OTEL_EXPORTER_PROMETHEUS_HOST": value])
    #expect(configuration.endpoint?.address == .tcp(host: host, port: 9464))
    #expect(configuration.warnings.isEmpty)
  }

  @Test(arguments: [
    " ", "\t", "a b", "http://localhost", "localhost:9464", "[::1", "::1]", "[]", "[10.0.0.7]", "[::1]:9464",
    "::g", "256.0.0.1", "10.0.0", "-a", "a-", "a..b", ".a", "a\0b", "%", "fe80::1%", "münchen",
    String(repeating: "a", count: 64), String(repeating: "a.", count: 127) + "a",
  ])
  func `a host that is none is left alone and named`(value: String) async throws {
    var configuration = Tap.Configuration(environment: [
      "OTEL_EXPORTER_PROMETHEUS_HOST": value, "OTEL_EXPORTER_PROMETHEUS_PORT": "0",
    ])
    #expect(configuration.endpoint?.address == .loopback(port: 0))
    #expect(configuration.warnings.count == 1)
    #expect(configuration.warnings.first?.contains("OTEL_EXPORTER_PROMETHEUS_HOST is '\(value)'") == true)
    configuration.exposesProcess = false
    configuration.isQuiet = true
    let tap = try Tap.start(configuration)
    #expect(tap.address?.host == "127.0.0.1")
    await tap.shutdown()
  }

  @Test(arguments: [
    ("OTEL_EXPORTER_PROMETHEUS_PORT", ["http", "-1", "65536", "94 64"]),
    ("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", [",", " ", " , ,"]),
  ])
  func `a port or a list of methods that is none is left alone and named`(variable: String, values: [String])
  {
    let standard = Tap.Configuration(environment: [:])
    for value in values {
      let configuration = Tap.Configuration(environment: [variable: value])
      #expect(configuration.endpoint?.address == standard.endpoint?.address)
      #expect(configuration.knownMethods == standard.knownMethods)
      #expect(configuration.warnings.count == 1)
      #expect(configuration.warnings.first?.contains("\(variable) is '\(value)'") == true)
    }
  }

  @Test(arguments: [
    ["OTEL_SERVICE_NAME": "shop", "OTEL_RESOURCE_ATTRIBUTES": "service.name=other,service.version=1.2%2B3"],
    ["OTEL_RESOURCE_ATTRIBUTES": "service.name=shop,service.version=1.2%2B3"],
  ])
  func `the service is in target_info, and in each line of the log`(environment: [String: String])
    async throws
  {
    var configuration = Tap.Configuration(environment: environment)
    configuration.endpoint?.address = .loopback(port: 0)
    configuration.servesLog = true
    configuration.isQuiet = true
    let tap = try Tap.start(configuration)
    let exposition = try await tap.get("/metrics")
    #expect(
      exposition.contains(
        #"target_info{service_name="shop",service_version="1.2+3"} 1"#))
    let log = try #require(tap.requestLog)
    log.log(.info, "hello")
    #expect(log.flush())
    #expect(
      String(decoding: log.recent(), as: UTF8.self).contains(
        #""service.name":"shop","service.version":"1.2+3""#))
    await tap.shutdown()
  }

  @Test func `known methods are split at commas`() {
    let configuration = Tap.Configuration(environment: [
      "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS": "GET, PURGE"
    ])
    #expect(configuration.knownMethods == ["GET", "PURGE"])
  }

  @Test(arguments: [
    ("off", false), ("", false), ("stderr", true), ("stdout", true), ("/tmp/requests.jsonl", true),
  ])
  func `the log goes where the variable says`(value: String, logs: Bool) {
    let configuration = Tap.Configuration(environment: ["SESSION_TAP_LOG": value])
    #expect((configuration.log != nil) == logs)
  }
}
