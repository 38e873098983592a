import Foundation
import TapCore
import TapEndpoint
import TapLog

/// A variable of the environment that a tap reads. The article "Metrics and limits" says what each sets, and
/// its default.
struct EnvironmentVariable: Sendable {
  enum Part { case tap, address, endpoint, logFile }

  let name: String
  let part: Part
  /// The problem with a value that cannot be used.
  let problem: String
  /// Takes a value into the configuration. `false` if it cannot be used.
  let take: @Sendable (_ value: String, inout Tap.Configuration) -> Bool
  /// Whether two configurations have the same setting.
  let isSame: @Sendable (Tap.Configuration, Tap.Configuration) -> Bool

  private init<Value: Sendable & Equatable>(
    _ name: String, of part: Part = .tap, sets path: any KeyPath<Tap.Configuration, Value> & Sendable,
    otherwise problem: String = "", take: @escaping @Sendable (String, inout Tap.Configuration) -> Bool
  ) {
    (self.name, self.part, self.problem, self.take) = (name, part, problem, take)
    isSame = { $0[keyPath: path] == $1[keyPath: path] }
  }

  private init<Value: Sendable & Equatable>(
    _ name: String, of part: Part = .tap,
    _ path: any WritableKeyPath<Tap.Configuration, Value> & Sendable, otherwise problem: String = "",
    parse: @escaping @Sendable (String) -> Value?
  ) {
    self.init(name, of: part, sets: path, otherwise: problem) { text, configuration in
      guard let value = parse(text) else { return false }
      configuration[keyPath: path] = value
      return true
    }
  }

  static let prefix = "SESSION_TAP_"
  static let log = "SESSION_TAP_LOG"
  static let serviceName = "OTEL_SERVICE_NAME"
  static let resourceAttributes = "OTEL_RESOURCE_ATTRIBUTES"

  /// The variable that takes precedence over this one, which has OpenTelemetry's name.
  var precedent: String? {
    let exporter = "OTEL_EXPORTER_PROMETHEUS_"
    return name.hasPrefix(exporter) ? Self.prefix + name.dropFirst(exporter.count) : nil
  }

  /// An environment without what Kubernetes sets for services whose names begin with `session-tap` (its
  /// documentation, "Service", "Environment variables"): `SESSION_TAP_PORT` is a URL then.
  static func withoutServiceLinks(_ environment: [String: String]) -> [String: String] {
    let host = "SERVICE_HOST"
    let services = environment.keys.filter { $0.hasPrefix(prefix) && $0.hasSuffix("_\(host)") }
      .map { $0.dropLast(host.count) }
    return environment.filter { name, value in
      !services.contains { service in
        name.hasPrefix("\(service)SERVICE_") || name.hasPrefix("\(service)PORT_")
          || name == "\(service)PORT" && value.contains("://")
      }
    }
  }

  static let all = [
    host("SESSION_TAP_HOST"), port("SESSION_TAP_PORT"), host("OTEL_EXPORTER_PROMETHEUS_HOST"),
    port("OTEL_EXPORTER_PROMETHEUS_PORT"),
    // The target has been made from both.
    EnvironmentVariable(serviceName, sets: \.target.labels) { _, _ in true },
    EnvironmentVariable(resourceAttributes, sets: \.target.labels) { _, _ in true },
    EnvironmentVariable(
      "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", \.knownMethods, otherwise: "which names no method"
    ) { value in
      let methods = value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        .filter { !$0.isEmpty }
      return methods.isEmpty ? nil : methods
    },
    // A boolean is "true" in any case, and nothing else is (OpenTelemetry, "Environment Variable
    // Specification", "Boolean"); an enum is what it is in any case ("Enum").
    EnvironmentVariable("OTEL_SDK_DISABLED", \.isDisabled, otherwise: "neither true nor false") {
      ["true": true, "false": false][$0.lowercased()]
    },
    // The tap keeps the flag of an incoming trace, so that it has the samplers that do.
    EnvironmentVariable(
      "OTEL_TRACES_SAMPLER", sets: \.traceSamplingRate,
      otherwise: "which is not parentbased_always_on, parentbased_always_off or parentbased_traceidratio"
    ) { text, configuration in
      let samplers = ["parentbased_always_on": 1.0, "parentbased_always_off": 0, traceIDRatio: 1]
      guard let rate = samplers[text.lowercased()] else { return false }
      configuration.samplesByRatio = text.lowercased() == traceIDRatio
      configuration.traceSamplingRate = rate
      return true
    },
    EnvironmentVariable(
      "OTEL_TRACES_SAMPLER_ARG", sets: \.traceSamplingRate,
      otherwise: "not a share from 0 to 1 for OTEL_TRACES_SAMPLER=\(traceIDRatio)"
    ) { text, configuration in
      guard configuration.samplesByRatio, let rate = Double(text), (0...1).contains(rate) else {
        return false
      }
      configuration.traceSamplingRate = rate
      return true
    },
    EnvironmentVariable(
      "OTEL_METRICS_EXEMPLAR_FILTER", \.exemplars,
      otherwise: "which is not trace_based, always_on or always_off"
    ) { ["trace_based": .sampled, "always_on": .all, "always_off": ExemplarPolicy.none][$0.lowercased()] },
    flag("SESSION_TAP_ALLOW_NETWORK", .endpoint, \.access.allowsAnyoneFromNetwork),
    file("SESSION_TAP_BEARER_TOKEN_FILE", \.access.bearerTokenFile),
    file("SESSION_TAP_BASIC_PASSWORD_FILE", \.access.basicPasswordFile),
    EnvironmentVariable(log, sets: \.log?.places, otherwise: "neither 'off' nor places, separated by commas")
    {
      text, configuration in
      let places = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      let isOff = places == ["off"]
      guard isOff || places.allSatisfy({ !$0.isEmpty && $0 != "off" }) else { return false }
      let streams: [String: RequestLog.Destination] = ["stderr": .standardError, "stdout": .standardOutput]
      configuration.log = isOff ? nil : RequestLog.Destination(places.map { streams[$0] ?? .file($0) })
      return true
    },
    EnvironmentVariable(
      "SESSION_TAP_LOG_ROTATION_SIZE", of: .logFile, \.rotation.maximumSize,
      otherwise: "not a number of bytes above 0, such as 100M"
    ) { quantity($0, ["k": 1 << 10, "M": 1 << 20, "G": 1 << 30]) },
    EnvironmentVariable(
      "SESSION_TAP_LOG_ROTATION_KEEP", of: .logFile, \.rotation.keep, otherwise: "not a number of files"
    ) { Int($0).flatMap { $0 < 0 ? nil : $0 } },
    flag("SESSION_TAP_SERVE_LOG", .endpoint, \.servesLog),
    EnvironmentVariable("SESSION_TAP_BLACK_BOX", \.blackBox) { $0 },
    EnvironmentVariable(
      "SESSION_TAP_WAITING_LIMIT", \.waitingLimits,
      otherwise: "neither 'off' nor a number of seconds from 0.001 to 1000000000"
    ) { text in
      if text == "off" { return [nil, nil] }
      guard let seconds = Double(text), (0.001...1e9).contains(seconds) else { return nil }
      return [.seconds(seconds), .seconds(seconds)]
    },
    flag("SESSION_TAP_LEARN_PATHS", .tap, \.learnsPaths),
  ]

  private static let traceIDRatio = "parentbased_traceidratio"

  private static func host(_ name: String) -> EnvironmentVariable {
    EnvironmentVariable(
      name, of: .address, \.host, otherwise: "neither an IP address nor a host name", parse: HostText.parse)
  }

  private static func file(
    _ name: String, _ path: any WritableKeyPath<Tap.Configuration, String?> & Sendable
  ) -> EnvironmentVariable {
    EnvironmentVariable(name, of: .endpoint, path) { $0 }
  }

  private static func port(_ name: String) -> EnvironmentVariable {
    EnvironmentVariable(name, of: .address, \.port, otherwise: "not a port") {
      Int($0).flatMap { (0...65_535).contains($0) ? $0 : nil }
    }
  }

  private static func flag(
    _ name: String, _ part: Part, _ path: any WritableKeyPath<Tap.Configuration, Bool> & Sendable
  ) -> EnvironmentVariable {
    EnvironmentVariable(name, of: part, path, otherwise: "neither 1 nor 0") { ["0": false, "1": true][$0] }
  }

  /// A number above 0, with or without a unit behind it.
  private static func quantity(_ text: String, _ units: [Character: Int]) -> Int? {
    let unit = text.last.flatMap { units[$0] }
    guard let number = Int(text.dropLast(unit == nil ? 0 : 1)), number > 0 else { return nil }
    let (quantity, isTooLarge) = number.multipliedReportingOverflow(by: unit ?? 1)
    return isTooLarge ? nil : quantity
  }
}

/// The settings of variables that lie within optional ones.
extension Tap.Configuration {
  fileprivate var host: String {
    get { endpoint?.address.host ?? "" }
    set {
      let port = port
      endpoint?.address = .tcp(host: newValue, port: port)
    }
  }

  /// Of the requests that the app makes, and of those that it serves.
  fileprivate var waitingLimits: [Duration?] {
    get { [outbound.waitingLimit, inbound.waitingLimit] }
    set { (outbound.waitingLimit, inbound.waitingLimit) = (newValue[0], newValue[1]) }
  }

  fileprivate var port: Int {
    get { endpoint?.address.port ?? -1 }
    set {
      let host = host
      endpoint?.address = .tcp(host: host, port: newValue)
    }
  }

  fileprivate var access: Endpoint.Configuration.Access {
    get { endpoint?.access ?? .init() }
    set { endpoint?.access = newValue }
  }

  fileprivate var rotation: LogRotation {
    get { logging.rotation ?? LogRotation(maximumSize: .max) }
    set { logging.rotation = newValue }
  }
}
