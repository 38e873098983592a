import TestSupport

@testable import SessionTap

@Suite struct EnvironmentTests {
  @Test func `without variables the defaults hold`() {
    let configuration = Tap.Configuration(environment: [:])
    #expect(configuration.endpoint?.address == .loopback(port: 9464))
    #expect(configuration.log == nil)
    #expect(configuration.warnings.isEmpty)
    #expect(configuration.exposesProcess && configuration.keepsPageHistory)
    #expect(!configuration.exposesCreatedSamples && !configuration.servesLog)
    #expect(!configuration.failsIfAddressInUse && !configuration.isQuiet)
    #expect(configuration.traceSamplingRate == 0)
    #expect(configuration.shutdownTimeout == .seconds(5))
    #expect(configuration.addressRetryInterval == .seconds(1))
    #expect(configuration.exemplars == .sampled)
    let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"]
    #expect(configuration.knownMethods == methods)
    // What is set to nothing counts as not set, and needs no word.
    let names = EnvironmentVariable.all.map(\.name)
    let empty = Tap.Configuration(environment: Dictionary(uniqueKeysWithValues: names.map { ($0, "") }))
    #expect(empty.warnings == [] && empty.assignments.isEmpty)
    #expect(empty.endpoint?.address == .loopback(port: 9464) && empty.log == nil)
    #expect(empty.knownMethods == methods && empty.logging.rotation == nil)
  }

  @Test(arguments: [
    ("[::1]", "::1"), ("::1", "::1"), ("[fe80::1%eth0]", "fe80::1%eth0"), ("10.0.0.7", "10.0.0.7"),
    ("0.0.0.0", "0.0.0.0"), ("metrics.internal", "metrics.internal"), ("web_1", "web_1"),
    ("host.example.", "host.example."),
    ("", "127.0.0.1"), ("localhost", "127.0.0.1"), ("LOCALHOST", "127.0.0.1"),
  ])
  func `a host is an address, in brackets too, or a name`(value: String, host: String) {
    let configuration = Tap.Configuration(environment: [
      "OTEL_EXPORTER_PROMETHEUS_HOST": value, "OTEL_EXPORTER_PROMETHEUS_PORT": "65535",
    ])
    #expect(configuration.endpoint?.address == .tcp(host: host, port: 65_535))
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
  func `a port or a list of methods that is none is left and named`(variable: String, values: [String]) {
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
  func `the service is in target_info, and in each line`(environment: [String: String]) async throws {
    var configuration = Tap.Configuration(environment: environment)
    configuration.endpoint?.address = .loopback(port: 0)
    configuration.servesLog = true
    configuration.isQuiet = true
    let tap = try Tap.start(configuration)
    let exposition = try await tap.get("/metrics")
    #expect(exposition.contains(#"target_info{service_name="shop",service_version="1.2+3"} 1"#))
    let log = try #require(tap.requestLog)
    log.log(.info, "hello")
    #expect(log.flush())
    #expect(log.recentText.contains(#""service.name":"shop","service.version":"1.2+3""#))
    await tap.shutdown()
  }

  @Test(
    arguments: [
      ("off", nil), ("", nil), ("stderr", .standardError), ("stdout", .standardOutput),
      ("/tmp/a.jsonl", .file("/tmp/a.jsonl")), ("stdout,a", [.standardOutput, .file("a")]),
    ] as [(String, RequestLog.Destination?)])
  func `the log goes where the variable says`(value: String, log: RequestLog.Destination?) {
    let configuration = Tap.Configuration(environment: ["SESSION_TAP_LOG": value])
    #expect(String(describing: configuration.log) == String(describing: log))
  }

  @Test func `rotation, whether the log is served, credentials and methods come from variables`() {
    let configuration = Tap.Configuration(environment: [
      "SESSION_TAP_LOG_ROTATION_SIZE": "100M", "SESSION_TAP_LOG_ROTATION_KEEP": "0",
      "SESSION_TAP_SERVE_LOG": "1",
      "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS": "GET, PURGE",
      "SESSION_TAP_BEARER_TOKEN_FILE": "/run/tokens", "SESSION_TAP_BASIC_PASSWORD_FILE": "/run/passwords",
    ])
    #expect(configuration.logging.rotation?.maximumSize == 100 << 20)
    #expect(configuration.logging.rotation?.keep == 0)
    #expect(configuration.servesLog)
    #expect(configuration.knownMethods == ["GET", "PURGE"])
    #expect(configuration.endpoint?.access.bearerTokenFile == "/run/tokens")
    #expect(configuration.endpoint?.access.basicPasswordFile == "/run/passwords")
    #expect(configuration.warnings.isEmpty)
    for (size, bytes) in [("7", 7), ("3k", 3_072), ("2G", 2 << 30)] {
      let configuration = Tap.Configuration(environment: ["SESSION_TAP_LOG_ROTATION_SIZE": size])
      #expect(configuration.logging.rotation?.maximumSize == bytes)
    }
  }

  @Test(arguments: [
    ("SIZE", "0"), ("SIZE", "-1"), ("SIZE", "1T"), ("SIZE", "M"), ("SIZE", "9223372036854775807k"),
    ("KEEP", "-1"), ("KEEP", "5k"), ("KEEP", "5"), ("SIZE", "1K"), ("SIZE", "1 M"), ("SIZE", "0G"),
  ])
  func `a rotation that is none, or has no condition, is left alone and named`(name: String, value: String) {
    let name = "SESSION_TAP_LOG_ROTATION_\(name)"
    var configuration = Tap.Configuration(environment: [name: value])
    #expect(configuration.logging.rotation == nil)
    // As at the start: each variable is named once.
    configuration.warnOfIgnoredVariables()
    #expect(configuration.warnings.count == 1)
    #expect(configuration.warnings.first?.contains("\(name) is '\(value)', ") == true)
  }

  @Test(arguments: [
    ("SESSION_TAP_LOGS", "SESSION_TAP_LOG"), ("SESSION_TAP_SERVES_LOG", "SESSION_TAP_SERVE_LOG"),
    ("SESSION_TAP_ALLOW_NETWROK", "SESSION_TAP_ALLOW_NETWORK"),
    ("SESSION_TAP_ROTATION_SIZE", "SESSION_TAP_LOG_ROTATION_SIZE"),
    ("SESSION_TAP_SERVICE_NAME", "OTEL_SERVICE_NAME"), ("SESSION_TAP_PROMETHEUS_PORT", "SESSION_TAP_PORT"),
    ("SESSION_TAP_KNOWN_METHODS", "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS"),
    ("SESSION_TAP_BEARER_FILE", "SESSION_TAP_BEARER_TOKEN_FILE"),
  ])
  func `a misspelt variable is named with the right spelling`(name: String, right: String) {
    let configuration = Tap.Configuration(environment: [name: "x"])
    #expect(configuration.warnings == ["there is no variable \(name): did you mean \(right)?"])
  }

  @Test(arguments: ["", "7", String(repeating: "7", count: 500)])
  func `a variable that is like no other is named alone`(name: String) {
    let configuration = Tap.Configuration(environment: ["SESSION_TAP_" + name: "x"])
    let shown = name.prefix(244)
    #expect(configuration.warnings == ["there is no variable SESSION_TAP_\(shown)"])
  }

  @Test(arguments: [
    ("OTEL_EXPORTER_PROMETHEUS_HOST", "::1"), ("OTEL_EXPORTER_PROMETHEUS_PORT", "1"),
    ("OTEL_SERVICE_NAME", "shop"), ("OTEL_RESOURCE_ATTRIBUTES", "a=b"),
    ("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", "GET"), ("SESSION_TAP_ALLOW_NETWORK", "1"),
    ("SESSION_TAP_BEARER_TOKEN_FILE", "/a"), ("SESSION_TAP_BASIC_PASSWORD_FILE", "/a"),
    ("SESSION_TAP_LOG", "/a"),
    ("SESSION_TAP_LOG", "stderr"), ("SESSION_TAP_LOG", "off"), ("SESSION_TAP_LOG_ROTATION_SIZE", "1"),
    ("SESSION_TAP_SERVE_LOG", "0"),
  ])
  func `a variable whose setting the code sets is ignored, and named`(name: String, value: String) throws {
    var configuration = Tap.Configuration(environment: [name: value])
    configuration.endpoint = Endpoint.Configuration()
    configuration.target = TargetInfo(serviceName: "other", resourceAttributes: nil)
    configuration.knownMethods = ["POST"]
    configuration.log = .memory
    configuration.logging = RequestLog.Configuration()
    configuration.servesLog = true
    let tap = try Tap(configuration)
    let log = try #require(tap.requestLog)
    #expect(log.flush())
    let lines = log.recentText
    #expect(lines.contains("\(name) is '\(value)', which is ignored: the app's code sets another value"))
    #expect(lines.split(separator: "is ignored").count == 2)
    #expect(lines.ranges(of: #""severity":"WARN""#).count == 1)
  }

  @Test(arguments: [nil, RequestLog.Destination.standardError, .memory])
  func `a rotation of a log that is in no file is named`(log: RequestLog.Destination?) throws {
    var configuration = Tap.Configuration(environment: ["SESSION_TAP_LOG_ROTATION_SIZE": "1M"])
    configuration.log = log
    configuration.warnOfIgnoredVariables()
    let warning = "SESSION_TAP_LOG_ROTATION_SIZE is '1M', which has no effect: there is no log in a file"
    #expect(configuration.warnings == [warning])
    configuration = Tap.Configuration(environment: ["SESSION_TAP_LOG_ROTATION_SIZE": "1M"])
    configuration.log = .file("requests.jsonl")
    configuration.warnOfIgnoredVariables()
    #expect(configuration.warnings == [])
  }

  /// Each set of names alone, and the tap's own before OpenTelemetry's.
  @Test func `host and port have a name of the tap's own and one of OpenTelemetry's`() {
    let own = ["SESSION_TAP_HOST": "::1", "SESSION_TAP_PORT": "7"]
    let other = ["OTEL_EXPORTER_PROMETHEUS_HOST": "127.0.0.2", "OTEL_EXPORTER_PROMETHEUS_PORT": "8"]
    func address(_ environment: [String: String]) -> EndpointAddress? {
      Tap.Configuration(environment: environment).endpoint?.address
    }
    #expect(address(own) == .tcp(host: "::1", port: 7))
    #expect(address(other) == .tcp(host: "127.0.0.2", port: 8))
    // What is set to nothing counts as not set.
    let unset = own.mapValues { _ in "" }.merging(other) { $1 }
    #expect(address(unset) == .tcp(host: "127.0.0.2", port: 8))
    let both = Tap.Configuration(environment: own.merging(other) { $1 })
    #expect(both.endpoint?.address == .tcp(host: "::1", port: 7))
    #expect(
      both.warnings == [
        "OTEL_EXPORTER_PROMETHEUS_HOST is '127.0.0.2', which is ignored: SESSION_TAP_HOST is set",
        "OTEL_EXPORTER_PROMETHEUS_PORT is '8', which is ignored: SESSION_TAP_PORT is set",
      ])
  }

  /// Places of the variable, by what they get.
  @Test func `a log may have several places`() async throws {
    let folder = try TemporaryFolder()
    let (one, other) = (folder("one.jsonl"), folder("other.jsonl"))
    var configuration = Tap.Configuration(environment: ["SESSION_TAP_LOG": "\(one),\(other),\(one)"])
    configuration.endpoint = nil
    #expect(configuration.warnings.isEmpty)
    let tap = try Tap(configuration)
    tap.log(.info, "to both")
    await tap.shutdown()
    for name in ["one.jsonl", "other.jsonl"] {
      let lines = try folder.lines(name)
      #expect(lines.count == 1 && lines[0].contains("to both"))
    }
    #expect(tap.requestLog?.statistics.lines == 2)
    #expect(tap.requestLog?.usesStandardStreams == false)
  }

  @Test func `a log of very many places is none`() throws {
    let paths = (0..<1_000).map { "\($0).jsonl" }.joined(separator: ",")
    var configuration = Tap.Configuration(environment: ["SESSION_TAP_LOG": paths])
    #expect(try configuration.makeLog() == nil)
    let problem = "a log has at most 16 places, not 1000; name fewer; the app runs without a log"
    #expect(configuration.warnings == ["SESSION_TAP_LOG: \(problem)"])
  }

  @Test(arguments: [",", "a.jsonl,", "off,stderr", "stderr,off"])
  func `places that are none are named`(value: String) {
    let configuration = Tap.Configuration(environment: ["SESSION_TAP_LOG": value])
    #expect(configuration.log == nil)
    let problem = "neither 'off' nor places, separated by commas: it is ignored"
    #expect(configuration.warnings == ["SESSION_TAP_LOG is '\(value)', \(problem)"])
  }

  /// The target is what both variables set, and the log's fields come from it.
  @Test func `a service that the code names is that of the log too`() async throws {
    var configuration = Tap.Configuration(environment: ["OTEL_SERVICE_NAME": "shop"])
    configuration.endpoint = nil
    configuration.log = .memory
    configuration.logging = with(RequestLog.Configuration()) {
      // Of a field of its own the log has that.
      ($0.recentLineLimit, $0.fields) = (10, ["service.version": "3"])
    }
    configuration.target = TargetInfo(serviceName: "till", resourceAttributes: "service.version=2")
    let tap = try Tap(configuration)
    let log = try #require(tap.requestLog)
    #expect(log.flush())
    #expect(log.recentText.contains(#""service.name":"till","service.version":"3""#))
    #expect(log.recentText.contains("OTEL_SERVICE_NAME is 'shop', which is ignored"))
  }

  @Test func `a variable that the code repeats is not said to be ignored`() throws {
    var configuration = Tap.Configuration(environment: [
      "SESSION_TAP_LOG": "stderr", "OTEL_EXPORTER_PROMETHEUS_PORT": "1", "OTEL_SERVICE_NAME": "shop",
    ])
    configuration.log = .standardError
    configuration.endpoint?.address = .loopback(port: 1)
    configuration.log = nil
    configuration.log = .standardError
    configuration.logging.recentLineLimit = 10
    let tap = try Tap(configuration)
    #expect(tap.requestLog?.flush() == true)
    #expect(tap.requestLog?.recent().isEmpty == true)
  }

  @Test func `the article lists the variables as they are read`() throws {
    let names = try Repository.article("MetricsAndLimits").matches(of: /\n\| `((OTEL|SESSION_TAP)_\w+)` \|/)
      .map { String($0.1) }
    #expect(names == EnvironmentVariable.all.map(\.name))
  }
}
