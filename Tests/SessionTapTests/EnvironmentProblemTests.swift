import TestSupport

@testable import SessionTap

/// What becomes of variables that cannot be used.
@Suite struct EnvironmentProblemTests {
  @Test(arguments: [
    ("SESSION_TAP_HOST", "a b", "neither an IP address nor a host name"),
    ("SESSION_TAP_PORT", "65536", "not a port"),
    ("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", ",", "which names no method"),
    ("SESSION_TAP_ALLOW_NETWORK", "true", "neither 1 nor 0"),
    ("SESSION_TAP_SERVE_LOG", "2", "neither 1 nor 0"),
    ("SESSION_TAP_LOG_ROTATION_SIZE", "0", "not a number of bytes above 0, such as 100M"),
    ("SESSION_TAP_LOG_ROTATION_KEEP", "-1", "not a number of files"),
  ])
  func `a value that is none is named with what would be one`(name: String, value: String, problem: String) {
    let configuration = Tap.Configuration(environment: [name: value])
    #expect(configuration.warnings == ["\(name) is '\(value)', \(problem): it is ignored"])
  }

  @Test func `variables that there are not are named in their order`() {
    let names = (0..<9).map { "SESSION_TAP_\($0)" }
    var environment = Dictionary(uniqueKeysWithValues: names.map { ($0, "x") })
    environment["MY_SESSION_TAP_LOGS"] = "x"
    let configuration = Tap.Configuration(environment: environment)
    #expect(configuration.warnings == names.map { "there is no variable \($0)" })
  }

  @Test(arguments: [
    [("SESSION_TAP_HOST", "::1"), ("OTEL_EXPORTER_PROMETHEUS_PORT", "9464")],
    [("SESSION_TAP_PORT", "9464"), ("OTEL_EXPORTER_PROMETHEUS_HOST", "::1")],
  ])
  func `what needs an endpoint has no effect without one`(address: [(String, String)]) {
    let variables: [(String, String)] =
      address + [
        ("SESSION_TAP_ALLOW_NETWORK", "0"), ("SESSION_TAP_BEARER_TOKEN_FILE", "/a"),
        ("SESSION_TAP_BASIC_PASSWORD_FILE", "/b"), ("SESSION_TAP_SERVE_LOG", "1"),
      ]
    var configuration = Tap.Configuration(environment: Dictionary(uniqueKeysWithValues: variables))
    configuration.endpoint = nil
    configuration.warnOfIgnoredVariables()
    let problem = "which has no effect: the app's code sets no endpoint"
    #expect(configuration.warnings == variables.map { "\($0) is '\($1)', \(problem)" })
  }

  @Test func `an address is ignored, and named, where the code sets a Unix socket`() {
    var configuration = Tap.Configuration(environment: ["SESSION_TAP_HOST": "::1", "SESSION_TAP_PORT": "0"])
    configuration.endpoint?.address = .unix(path: "/run/app/metrics.sock")
    configuration.warnOfIgnoredVariables()
    let problem = "which is ignored: the app's code sets another value"
    #expect(
      configuration.warnings == [
        "SESSION_TAP_HOST is '::1', \(problem)", "SESSION_TAP_PORT is '0', \(problem)",
      ])
  }

  /// Each variable is named once, with what becomes of it.
  @Test func `a log that cannot be opened is not said to be one of the code`() throws {
    let folder = try TemporaryFolder()
    var configuration = Tap.Configuration(environment: [
      "SESSION_TAP_LOG": folder("no/such/requests.jsonl")
    ])
    _ = try configuration.makeLog()
    configuration.warnOfIgnoredVariables()
    #expect(configuration.warnings.count == 1)
    #expect(configuration.warnings.first?.hasPrefix("SESSION_TAP_LOG: ") == true)
    #expect(configuration.warnings.first?.hasSuffix("the app runs without a log") == true)
    // Lines that are served need no file.
    configuration = Tap.Configuration(environment: [
      "SESSION_TAP_LOG": folder("no/such/requests.jsonl"), "SESSION_TAP_SERVE_LOG": "1",
    ])
    let served = try configuration.makeLog()
    #expect(served != nil)
  }

  @Test func `a field that no log can have is an error, also where the log is the environment's`() throws {
    let folder = try TemporaryFolder()
    var configuration = Tap.Configuration(environment: ["SESSION_TAP_LOG": folder("requests.jsonl")])
    configuration.logging.fields = ["timestamp": "never"]
    let error = #expect(throws: TapError.self) { try Tap(configuration) }
    #expect(error?.code == .log)
    #expect((error?.underlying as? RequestLogError)?.code == .reservedField)
  }

  @Test(arguments: [
    ("SESSION_TAP_HOST", "::1"), ("SESSION_TAP_PORT", "1"), ("OTEL_EXPORTER_PROMETHEUS_HOST", "::1"),
    ("OTEL_EXPORTER_PROMETHEUS_PORT", "1"),
  ])
  func `an address that cannot be used ends no app if it is the environment's`(name: String, value: String) {
    let error = EndpointError(.permissionDenied, "permission denied")
    var configuration = Tap.Configuration(environment: [name: value])
    #expect(configuration.tolerates(error))
    configuration.endpoint?.address = .loopback(port: 2)
    #expect(!configuration.tolerates(error))
    #expect(!Tap.Configuration(environment: [name: ""]).tolerates(error))
  }

  @Test func `of two files the one without credentials is named, if a variable names it`() {
    let names = ["SESSION_TAP_BEARER_TOKEN_FILE", "SESSION_TAP_BASIC_PASSWORD_FILE"]
    let files = ["/a", "/a/b"]
    var configuration = Tap.Configuration(environment: Dictionary(uniqueKeysWithValues: zip(names, files)))
    for (name, file) in zip(names, files) {
      let error = EndpointError(.noCredentials, "no credentials: \(file): gone")
      #expect(configuration.advice(on: error) == "no credentials: \(file): gone; \(name) names the file")
      #expect(configuration.tolerates(error))
      // Only for want of credentials.
      #expect(!configuration.tolerates(EndpointError(.system, error.description)))
    }
    let other = EndpointError(.noCredentials, "no credentials: /c: gone")
    #expect(configuration.advice(on: other) == other.description && !configuration.tolerates(other))
    // The code may name the same file for another scheme.
    configuration.endpoint?.access.bearerTokenFile = nil
    configuration.endpoint?.access.basicPasswordFile = "/a"
    let error = EndpointError(.noCredentials, "no credentials: /a: gone")
    #expect(configuration.advice(on: error) == error.description && !configuration.tolerates(error))
  }

  @Test func `an error has advice only where a setting is the remedy`() {
    let configuration = Tap.Configuration(environment: [:])
    let codes: [EndpointError.Code] = [
      .addressNotAvailable, .permissionDenied, .invalidConfiguration, .tooManyOpenFiles, .system,
    ]
    for code in codes {
      let error = EndpointError(code, "no")
      #expect(configuration.advice(on: error) == "no" && !configuration.tolerates(error))
    }
  }
}
