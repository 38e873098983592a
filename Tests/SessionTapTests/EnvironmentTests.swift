import TestSupport

@testable import SessionTap

@Suite struct EnvironmentTests {
  /// Variables, and what they change. A warning of a variable begins with `!`, without its name and its
  /// value. Behind the first of them, `|` stands between values that change the same.
  private static let table = #"""
    SESSION_TAP_HOST=::1|[::1] > host ::1
    SESSION_TAP_HOST=[fe80::1%eth0] > host fe80::1%eth0
    SESSION_TAP_HOST=metrics.internal > host metrics.internal
    SESSION_TAP_HOST=LOCALHOST >
    SESSION_TAP_HOST=a b|[10.0.0.7]|http://localhost|localhost:9464|[::1]:9464 > ! neither an IP address nor a host name: it is ignored
    SESSION_TAP_PORT=0 > port 0
    SESSION_TAP_PORT=65535 > port 65535
    SESSION_TAP_PORT=65536|-1|94 64 > ! not a port: it is ignored
    OTEL_EXPORTER_PROMETHEUS_HOST=127.0.0.2; OTEL_EXPORTER_PROMETHEUS_PORT=8 > host 127.0.0.2, port 8
    SESSION_TAP_HOST=; OTEL_EXPORTER_PROMETHEUS_HOST=::2 > host ::2
    SESSION_TAP_HOST=::1; OTEL_EXPORTER_PROMETHEUS_HOST=::2 > host ::1, ! which is ignored: SESSION_TAP_HOST is set
    SESSION_TAP_PORT=7; OTEL_EXPORTER_PROMETHEUS_PORT=8 > port 7, ! which is ignored: SESSION_TAP_PORT is set
    SESSION_TAP_PORT=tcp://10.0.0.7:9464; OTEL_EXPORTER_PROMETHEUS_PORT=9999 > port 9999, ! not a port: it is ignored
    SESSION_TAP_HOST=a b; OTEL_EXPORTER_PROMETHEUS_HOST=::2 > host ::2, ! neither an IP address nor a host name: it is ignored
    OTEL_SERVICE_NAME=shop > service shop
    OTEL_RESOURCE_ATTRIBUTES=service.name=shop > service shop
    OTEL_SERVICE_NAME=shop; OTEL_RESOURCE_ATTRIBUTES=service.name=other > service shop
    OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS=GET, PURGE > methods GET+PURGE
    OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS= , , > ! which names no method: it is ignored
    OTEL_SDK_DISABLED=True > disabled
    OTEL_SDK_DISABLED=FALSE >
    OTEL_SDK_DISABLED=1 > ! neither true nor false: it is ignored
    OTEL_TRACES_SAMPLER=parentbased_always_on|ParentBased_TraceIDRatio > samples 1.0
    OTEL_TRACES_SAMPLER=parentbased_always_off >
    OTEL_TRACES_SAMPLER=parentbased_traceidratio; OTEL_TRACES_SAMPLER_ARG=0.25 > samples 0.25
    OTEL_TRACES_SAMPLER_ARG=1.1|nan; OTEL_TRACES_SAMPLER=parentbased_traceidratio > samples 1.0, ! not a share from 0 to 1 for OTEL_TRACES_SAMPLER=parentbased_traceidratio: it is ignored
    OTEL_TRACES_SAMPLER=parentbased_always_on; OTEL_TRACES_SAMPLER_ARG=0.25 > samples 1.0, ! not a share from 0 to 1 for OTEL_TRACES_SAMPLER=parentbased_traceidratio: it is ignored
    OTEL_TRACES_SAMPLER_ARG=0.25 > ! not a share from 0 to 1 for OTEL_TRACES_SAMPLER=parentbased_traceidratio: it is ignored
    OTEL_TRACES_SAMPLER=always_on > ! which is not parentbased_always_on, parentbased_always_off or parentbased_traceidratio: it is ignored
    OTEL_METRICS_EXEMPLAR_FILTER=trace_based >
    OTEL_METRICS_EXEMPLAR_FILTER=Always_On > exemplars all
    OTEL_METRICS_EXEMPLAR_FILTER=always_off > exemplars none
    OTEL_METRICS_EXEMPLAR_FILTER=all > ! which is not trace_based, always_on or always_off: it is ignored
    SESSION_TAP_ALLOW_NETWORK=1 > network
    SESSION_TAP_ALLOW_NETWORK=0 >
    SESSION_TAP_ALLOW_NETWORK=true > ! neither 1 nor 0: it is ignored
    SESSION_TAP_BEARER_TOKEN_FILE=/run/tokens > tokens /run/tokens
    SESSION_TAP_BASIC_PASSWORD_FILE=/run/passwords > passwords /run/passwords
    SESSION_TAP_LOG=off >
    SESSION_TAP_LOG=stderr > log fd 2
    SESSION_TAP_LOG=stdout,a > log fd 1+a
    SESSION_TAP_LOG=,|a.jsonl,|off,stderr > ! neither 'off' nor places, separated by commas: it is ignored
    SESSION_TAP_LOG_ROTATION_SIZE=7 > size 7
    SESSION_TAP_LOG_ROTATION_SIZE=3k > size 3072
    SESSION_TAP_LOG_ROTATION_SIZE=100M; SESSION_TAP_LOG_ROTATION_KEEP=0 > size 104857600, keep 0
    SESSION_TAP_LOG_ROTATION_SIZE=2G > size 2147483648
    SESSION_TAP_LOG_ROTATION_SIZE=0|-1|1T|M|9223372036854775807k > ! not a number of bytes above 0, such as 100M: it is ignored
    SESSION_TAP_LOG_ROTATION_SIZE=x; SESSION_TAP_LOG_ROTATION_KEEP=5 > ! not a number of bytes above 0, such as 100M: it is ignored, ! which has no effect without a size
    SESSION_TAP_LOG_ROTATION_KEEP=5 > ! which has no effect without a size
    SESSION_TAP_LOG_ROTATION_KEEP=-1 > ! not a number of files: it is ignored
    SESSION_TAP_SERVE_LOG=1 > serves the log
    SESSION_TAP_SERVE_LOG=2 > ! neither 1 nor 0: it is ignored
    SESSION_TAP_WAITING_LIMIT=0.5 > waiting 0.5 seconds, waiting 0.5 seconds
    SESSION_TAP_WAITING_LIMIT=off > waiting never, waiting never
    SESSION_TAP_WAITING_LIMIT=0|inf|30s > ! neither 'off' nor a number of seconds from 0.001 to 1000000000: it is ignored
    SESSION_TAP_LEARN_PATHS=1 > learns paths
    SESSION_TAP_LEARN_PATHS=yes > ! neither 1 nor 0: it is ignored
    SESSION_TAP_SERVICE_HOST=10.0.0.7; SESSION_TAP_SERVICE_PORT=9464; SESSION_TAP_SERVICE_PORT_METRICS=9464; SESSION_TAP_PORT=tcp://10.0.0.7:9464; SESSION_TAP_PORT_9464_TCP=tcp://10.0.0.7:9464; SESSION_TAP_PORT_9464_TCP_PROTO=tcp; SESSION_TAP_PORT_9464_TCP_PORT=9464; SESSION_TAP_PORT_9464_TCP_ADDR=10.0.0.7; OTEL_EXPORTER_PROMETHEUS_PORT=9999 > port 9999
    SESSION_TAP_HOST_SERVICE_HOST=fd00::7; SESSION_TAP_HOST_SERVICE_PORT=80; SESSION_TAP_HOST_PORT=udp://[fd00::7]:80; SESSION_TAP_HOST_PORT_80_UDP_ADDR=fd00::7; SESSION_TAP_HOST=::1 > host ::1
    SESSION_TAP_SERVICE_HOST=10.0.0.7; SESSION_TAP_PORT=7; SESSION_TAP_HOSTS=x > port 7, there is no variable SESSION_TAP_HOSTS: the article "Metrics and limits" lists all
    SESSION_TAP_SERVICE_PORT=9464 > there is no variable SESSION_TAP_SERVICE_PORT: the article "Metrics and limits" lists all
    SESSION_TAP_LOGS=x; MY_SESSION_TAP_LOGS=x > there is no variable SESSION_TAP_LOGS: the article "Metrics and limits" lists all
    """#

  /// What a configuration has in place of the defaults, and its warnings.
  private static func text(_ configuration: Tap.Configuration, _ environment: [String: String]) -> String {
    let places = configuration.log?.places.map { kind in
      switch kind {
      case .file(let path): path
      case .descriptor(let number): "fd \(number)"
      default: "other"
      }
    }
    let (address, rotation) = (configuration.endpoint?.address, configuration.logging.rotation)
    let access = configuration.endpoint?.access
    var changes: [String] = []
    func note(_ name: String, _ value: String?, unless usual: String? = nil) {
      if let value, value != usual { changes.append(name + value) }
    }
    note("host ", address?.host, unless: "127.0.0.1")
    note("port ", address.map { "\($0.port)" }, unless: "9464")
    note("service ", configuration.target["service_name"])
    note(
      "methods ", configuration.knownMethods.joined(separator: "+"),
      unless: "GET+HEAD+POST+PUT+DELETE+CONNECT+OPTIONS+TRACE+PATCH+QUERY")
    note("network", access?.allowsAnyoneFromNetwork == true ? "" : nil)
    note("tokens ", access?.bearerTokenFile)
    note("passwords ", access?.basicPasswordFile)
    note("log ", places?.joined(separator: "+"))
    note("size ", rotation.map { "\($0.maximumSize)" })
    note("keep ", rotation.map { "\($0.keep)" }, unless: "5")
    note("serves the log", configuration.servesLog ? "" : nil)
    note("disabled", configuration.isDisabled ? "" : nil)
    note("samples ", "\(configuration.traceSamplingRate)", unless: "0.0")
    note("exemplars ", "\(configuration.exemplars)", unless: "sampled")
    note("learns paths", configuration.learnsPaths ? "" : nil)
    for limit in [configuration.outbound, configuration.inbound].map(\.waitingLimit) {
      note("waiting ", limit.map { "\($0)" } ?? "never", unless: "30.0 seconds")
    }
    let warnings = configuration.warnings.map { warning in
      environment.reduce(warning) { $0.replacing("\($1.key) is '\($1.value)', ", with: "! ") }
    }
    return (changes + warnings).joined(separator: ", ")
  }

  private static func text(_ environment: [String: String]) -> String {
    text(Tap.Configuration(environment: environment), environment)
  }

  @Test func `each variable sets what it names, and a value that cannot be used is named`() {
    var (found, expected): ([String], [String]) = ([], [])
    for row in Self.table.split(separator: "\n") {
      let sides = row.split(separator: ">", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      let pairs = sides[0].components(separatedBy: "; ").map {
        let parts = $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (name: String(parts[0]), value: String(parts[1]))
      }
      for value in pairs[0].value.components(separatedBy: "|") {
        let others = Dictionary(uniqueKeysWithValues: pairs.dropFirst().map { ($0.name, $0.value) })
        let text = Self.text(others.merging([pairs[0].name: value]) { $1 })
        found.append("\(sides[0]) \(value): \(text)")
        expected.append("\(sides[0]) \(value): \(sides.count > 1 ? sides[1] : "")")
      }
    }
    expectEqual(found, expected)
    // It is said once, though the configuration has another value in its place.
    var keep = Tap.Configuration(environment: ["SESSION_TAP_LOG_ROTATION_KEEP": "5"])
    keep.warnOfIgnoredVariables()
    #expect(keep.warnings.count == 1)
    // What is set to nothing counts as not set.
    let empty = EnvironmentVariable.all.map { ($0.name, "") }
    for environment in [[:], Dictionary(uniqueKeysWithValues: empty)] {
      let configuration = Tap.Configuration(environment: environment)
      expectEqual(Self.text(configuration, environment), "")
      #expect(configuration.assignments.isEmpty)
    }
  }

  @Test func `an unknown name is cut`() {
    let name = "SESSION_TAP_" + String(repeating: "7", count: 100_000)
    let unknown = "there is no variable \(name.prefix(256)): the article \"Metrics and limits\" lists all"
    #expect(Tap.Configuration(environment: [name: "x"]).warnings == [unknown])
  }

  @Test func `the article lists the variables as they are read`() throws {
    let names = try Repository.article("MetricsAndLimits").matches(of: /\n\| `((OTEL|SESSION_TAP)_\w+)` \|/)
      .map { String($0.1) }
    #expect(names == EnvironmentVariable.all.map(\.name))
  }

  // MARK: Beside what the code sets

  private static let each = [
    ("SESSION_TAP_HOST", "::1"), ("SESSION_TAP_PORT", "1"), ("OTEL_SERVICE_NAME", "shop"),
    ("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", "GET"),
    ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "0.5"),
    ("OTEL_METRICS_EXEMPLAR_FILTER", "always_on"), ("SESSION_TAP_ALLOW_NETWORK", "1"),
    ("SESSION_TAP_BEARER_TOKEN_FILE", "/a"), ("SESSION_TAP_BASIC_PASSWORD_FILE", "/b"),
    ("SESSION_TAP_LOG", "/c"), ("SESSION_TAP_LOG_ROTATION_SIZE", "1"), ("SESSION_TAP_SERVE_LOG", "0"),
    ("SESSION_TAP_WAITING_LIMIT", "7"), ("SESSION_TAP_LEARN_PATHS", "1"),
  ]

  /// The configuration of all these variables, after a change.
  private static func warnings(
    _ variables: [(String, String)] = each, _ change: (inout Tap.Configuration) -> Void
  ) -> [String] {
    var configuration = Tap.Configuration(environment: Dictionary(uniqueKeysWithValues: variables))
    change(&configuration)
    configuration.warnOfIgnoredVariables()
    return configuration.warnings
  }

  @Test func `a variable is named whose setting the code sets to another value, and no other`() {
    let changed = Self.warnings {
      $0.endpoint = Endpoint.Configuration()
      $0.target = TargetInfo(serviceName: "other", resourceAttributes: nil)
      ($0.knownMethods, $0.log, $0.logging) = (["POST"], .memory, RequestLog.Configuration())
      ($0.servesLog, $0.traceSamplingRate, $0.exemplars) = (true, 0.1, .sampled)
      ($0.inbound.waitingLimit, $0.learnsPaths) = (.seconds(1), false)
    }
    let problem = "which is ignored: the app's code sets another value"
    #expect(changed == Self.each.map { "\($0) is '\($1)', \(problem)" })
    let repeated = Self.warnings {
      $0.endpoint?.address = .tcp(host: "[::1]", port: 1)
      $0.target = TargetInfo(serviceName: "shop", resourceAttributes: nil)
      ($0.log, $0.servesLog, $0.logging.recentLineLimit) = (.file("/c"), false, 10)
    }
    // A name of the loopback is no other host than its address.
    let names = Self.warnings([("SESSION_TAP_HOST", "LocalHost")]) {
      $0.endpoint?.address = .tcp(host: "localhost", port: 9464)
    }
    #expect(repeated == [] && names == [])
  }

  @Test func `a variable is named that has no effect`() {
    let ofEndpoint = Self.each.filter {
      ["HOST", "PORT", "NETWORK", "FILE", "SERVE_LOG"].contains(where: $0.0.hasSuffix)
    }
    let none = "which has no effect: the app's code sets no endpoint"
    #expect(Self.warnings { $0.endpoint = nil } == ofEndpoint.map { "\($0) is '\($1)', \(none)" })
    for log in [nil, RequestLog.Destination.standardError, .memory] {
      let warnings = Self.warnings([("SESSION_TAP_LOG_ROTATION_SIZE", "1M")]) { $0.log = log }
      let problem = "which has no effect: there is no log in a file"
      #expect(warnings == ["SESSION_TAP_LOG_ROTATION_SIZE is '1M', \(problem)"])
    }
  }

  /// OpenTelemetry, "Environment Variable Specification", `OTEL_SDK_DISABLED`.
  @Test func `a tap that is disabled does nothing, whatever the code sets, and the app runs`() async throws {
    let (origin, folder) = (try Origin { _ in [.response()] }, try TemporaryFolder())
    let observer = RecordingObserver()
    let environment = ["OTEL_SDK_DISABLED": "true", "SESSION_TAP_PORT": "0"]
    let tap = try Tap.start(
      .test(log: .file(folder("requests.jsonl")), environment: environment) { $0.consumers = [observer] })
    let (_, response) = try await tap.session(client: "c").data(from: origin.url("/"))
    #expect((response as? HTTPURLResponse)?.statusCode == 200)
    tap.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
    tap.log(.error, "nobody reads this")
    try await tap.push(to: PushGateway("http://127.0.0.1:1", job: "job"))
    #expect(await tap.flush() && tap.address == nil && tap.requestLog == nil)
    let warning = "OTEL_SDK_DISABLED is 'true': nothing is observed, logged or served"
    #expect(tap.configuration.warnings == [warning])
    await tap.shutdown()
    #expect(try observer.ended.isEmpty && folder.names == [])
    #expect(!tap.registry.text.contains("http_client_request_duration_seconds_count"))
  }

  // MARK: The log

  @Test func `a log that only the environment names and that cannot be opened is left out`() throws {
    let folder = try TemporaryFolder()
    let missing = folder("no/such/requests.jsonl")
    for (path, problem) in [
      (missing, "make its directory if that is missing, or choose another path"),
      ((0..<1_000).map { "\($0).jsonl" }.joined(separator: ","), "a log has at most 16 places, not 1000"),
    ] {
      var configuration = Tap.Configuration(environment: ["SESSION_TAP_LOG": path])
      #expect(try configuration.makeLog() == nil)
      // It is not the code that sets none.
      configuration.warnOfIgnoredVariables()
      let warning = try #require(configuration.warnings.first)
      #expect(warning.hasPrefix("SESSION_TAP_LOG: ") && warning.contains(problem))
      #expect(warning.hasSuffix("; the app runs without a log") && configuration.warnings.count == 1)
    }
    // Lines that are served need no file.
    var served = Tap.Configuration(environment: ["SESSION_TAP_LOG": missing, "SESSION_TAP_SERVE_LOG": "1"])
    #expect(try served.makeLog() != nil)
  }

  @Test func `where the path in code cannot be opened, the log goes to the variable's`() async throws {
    let folder = try TemporaryFolder()
    let environment = ["SESSION_TAP_LOG": folder("requests.jsonl")]
    let tap = try Tap.start(
      .test(log: .file(folder("no/such/requests.jsonl")), environment: environment) {
        ($0.endpoint, $0.logging.fields) = (nil, ["team": "web"])
      })
    tap.log(.info, "mine")
    await tap.shutdown()
    let lines = try jsonObjects(folder.text("requests.jsonl"))
    #expect(lines.first?.row("message").hasSuffix("; SESSION_TAP_LOG is used instead") == true)
    // It is written as the code says.
    #expect(lines.last?.row("message") == "mine" && lines.map { $0.row("team") } == ["web", "web"])
  }

  @Test func `a log of the code's that fails is an error where the variable gives no other`() throws {
    // Also where both name the same.
    for value in ["", "off", "/no/such/requests.jsonl", "/no/such/log.jsonl"] {
      var configuration = Tap.Configuration(environment: ["SESSION_TAP_LOG": value])
      configuration.log = .file("/no/such/log.jsonl")
      let error = #expect(throws: TapError.self) { try Tap(configuration) }
      #expect(error?.code == .log && error?.description.contains("/no/such/log.jsonl") == true)
    }
    let folder = try TemporaryFolder()
    var configuration = Tap.Configuration(environment: ["SESSION_TAP_LOG": folder("requests.jsonl")])
    configuration.logging.fields = ["timestamp": "never"]
    let error = #expect(throws: TapError.self) { try Tap(configuration) }
    #expect(error?.code == .log && (error?.underlying as? RequestLogError)?.code == .invalidField)
  }

  @Test func `the service is in target_info and in each line, unless the code names another`() async throws {
    for isOfCode in [false, true] {
      let environment = [
        "OTEL_SERVICE_NAME": "shop", "OTEL_RESOURCE_ATTRIBUTES": "service.name=x,service.version=1.2%2B3",
      ]
      let tap = try Tap(
        .test(log: .memory, environment: environment) {
          ($0.endpoint, $0.logging.recentLineLimit) = (nil, 10)
          guard isOfCode else { return }
          $0.target = TargetInfo(serviceName: "till", resourceAttributes: "service.version=2")
          // Of a field of its own the log has that.
          $0.logging.fields = ["service.version": "3"]
        })
      let (name, version, field) = isOfCode ? ("till", "2", "3") : ("shop", "1.2+3", "1.2+3")
      let labels = "service_name=\"\(name)\",service_version=\"\(version)\""
      #expect(tap.registry.text.contains("target_info{\(labels)} 1"))
      tap.log(.info, "hello")
      #expect(await tap.flush())
      let lines = try tap.logLines.map { $0.row("message", "service.name", "service.version") }
      #expect(lines.last == "hello \(name) \(field)")
      #expect(lines[0].contains("OTEL_SERVICE_NAME is 'shop', which is ignored") == isOfCode)
    }
  }

  @Test func `the service has the name that the code sets, and the rest of the resource stays`() {
    var configuration = Tap.Configuration(
      environment: ["OTEL_SERVICE_NAME": "shop", "OTEL_RESOURCE_ATTRIBUTES": "service.version=2"])
    var names = [configuration.serviceName]
    for name in ["", nil, "till"] {
      configuration.serviceName = name
      names.append(configuration.serviceName)
    }
    expectEqual(names, ["shop", nil, nil, "till"])
    #expect(configuration.target["service_version"] == "2")
  }

  // MARK: The endpoint's errors

  @Test func `an address or a file that cannot be used ends no app if it is the environment's`() {
    let names = ["SESSION_TAP_BEARER_TOKEN_FILE", "SESSION_TAP_BASIC_PASSWORD_FILE"]
    var files = Tap.Configuration(environment: [names[0]: "/a", names[1]: "/a/b"])
    let address = Tap.Configuration(environment: ["SESSION_TAP_PORT": "1"])
    let other = with(address) { $0.endpoint?.address = .loopback(port: 2) }
    let standard = Tap.Configuration(environment: ["SESSION_TAP_PORT": "", "SESSION_TAP_HOST": "a b"])
    let denied = EndpointError(.permissionDenied, "no")
    let (open, inUse) = (EndpointError(.accessNotRestricted, "no"), EndpointError(.addressInUse, "no"))
    func noCredentials(_ file: String) -> EndpointError { EndpointError(.noCredentials, "no", file: file) }
    // The code may name the same file for another scheme.
    let swapped = with(files) {
      $0.endpoint?.access.bearerTokenFile = nil
      $0.endpoint?.access.basicPasswordFile = "/a"
    }
    let rows: [(Tap.Configuration, EndpointError, isTolerated: Bool)] = [
      (address, denied, true), (other, denied, false), (standard, denied, false),
      (files, noCredentials("/a"), true), (files, noCredentials("/a/b"), true),
      (files, noCredentials("/c"), false), (swapped, noCredentials("/a"), false),
      (standard, EndpointError(.system, "no"), false), (standard, open, false), (standard, inUse, true),
    ]
    #expect(rows.map { $0.0.tolerates($0.1) } == rows.map(\.isTolerated))
    files.failsIfAddressInUse = true
    #expect(!files.tolerates(inUse))
  }
}
