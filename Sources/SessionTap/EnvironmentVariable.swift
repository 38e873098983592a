import Foundation
import TapEndpoint
import TapLog

/// A variable of the environment that a tap reads. The list of all is what the articles say, what is read and what is known.
struct EnvironmentVariable: Sendable {
  let name: String
  /// What the variable sets, and its default, as the article "Metrics and limits" has them.
  let meaning: String
  let standard: String
  /// Takes a value into the configuration, or returns why it is none.
  let take: @Sendable (_ value: String, inout Tap.Configuration) -> String?
  /// What the configuration has in its place, by which a change in code is noticed.
  let setting: @Sendable (Tap.Configuration) -> String

  struct Assignment: Sendable {
    let variable: EnvironmentVariable
    let value: String
    var setting = ""

    func holds(in configuration: Tap.Configuration) -> Bool { variable.setting(configuration) == setting }
  }

  static let own = "SESSION_TAP_"
  static let host = "OTEL_EXPORTER_PROMETHEUS_HOST"
  static let port = "OTEL_EXPORTER_PROMETHEUS_PORT"
  static let bearerTokenFile = own + "BEARER_TOKEN_FILE"
  static let basicPasswordFile = own + "BASIC_PASSWORD_FILE"
  static let log = own + "LOG"
  static let rotation = own + "LOG_ROTATION_"
  static let rotationKeep = rotation + "KEEP"

  static let all = address + service + access + logs

  private static let address = [
    EnvironmentVariable(
      host, "the host to serve the metrics at: an IP address or a name", "`localhost`", \.host,
      otherwise: "neither an IP address nor a host name"
    ) { $0.lowercased() == "localhost" ? "127.0.0.1" : EndpointAddress.parseHost($0) },
    EnvironmentVariable(port, "its port; 0 takes a free one", "`9464`", \.port, otherwise: "not a port") {
      Int($0).flatMap { (0...65_535).contains($0) ? $0 : nil }
    },
  ]

  private static let service = [
    // The target is made of both variables.
    EnvironmentVariable(
      name: "OTEL_SERVICE_NAME", meaning: "`target_info`, and `service.name` in the log", standard: "none",
      take: { _, _ in nil }, setting: { "\($0.target)" }),
    EnvironmentVariable(
      name: "OTEL_RESOURCE_ATTRIBUTES",
      meaning: "`target_info`, and `service.name` and `service.version` in the log", standard: "none",
      take: { _, _ in nil }, setting: { "\($0.target)" }),
    EnvironmentVariable(
      "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", "methods that appear as themselves, separated by commas",
      "RFC 9110, PATCH, QUERY", \.knownMethods, otherwise: "which names no method"
    ) { value in
      let methods = value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        .filter { !$0.isEmpty }
      return methods.isEmpty ? nil : methods
    },
  ]

  private static let access = [
    EnvironmentVariable(
      own + "ALLOW_NETWORK", "`1` serves an address that other machines reach without credentials", "`0`",
      \.access.allowsAnyoneFromNetwork, otherwise: notFlag, parse: flag),
    EnvironmentVariable(
      bearerTokenFile, "a file of bearer tokens, of which each request needs one", "none",
      \.access.bearerTokenFile
    ) { $0 },
    EnvironmentVariable(
      basicPasswordFile, "a file of lines `user:password`, of which each request needs one", "none",
      \.access.basicPasswordFile
    ) { $0 },
  ]

  private static let logs = [
    EnvironmentVariable(log, "a path, `stderr`, `stdout` or `off`", "`off`", \.log) { value in
      switch value {
      case "off": .some(nil)
      case "stderr": .standardError
      case "stdout": .standardOutput
      default: .file(value)
      }
    },
    EnvironmentVariable(
      rotation + "SIZE", "the maximum size of the log's file: bytes, or with a unit, `100M` (`k`, `M`, `G`)",
      "none", \.rotation.maximumSize, otherwise: "not a number of bytes above 0, such as 100M"
    ) { quantity($0, ["k": 1 << 10, "M": 1 << 20, "G": 1 << 30]).map(Int?.some) },
    EnvironmentVariable(
      rotation + "INTERVAL",
      "the time that a file covers: seconds, or with a unit, `1d` (`s`, `m`, `h`, `d`)", "none",
      \.rotation.interval, otherwise: "not a time of a second or more, such as 1d"
    ) { quantity($0, ["s": 1, "m": 60, "h": 3_600, "d": 86_400]).map { Duration?.some(.seconds($0)) } },
    EnvironmentVariable(
      rotationKeep, "how many old files to keep", "`5`", \.rotation.keep, otherwise: "not a number of files"
    ) { Int($0).flatMap { $0 < 0 ? nil : $0 } },
    EnvironmentVariable(
      own + "SERVE_LOG", "`1` serves the newest lines at `/logs` and on the page", "`0`", \.servesLog,
      otherwise: notFlag, parse: flag),
  ]

  private static let notFlag = "neither 1 nor 0"
  private static let flag: @Sendable (String) -> Bool? = { ["0": false, "1": true][$0] }

  /// A number above 0, with or without a unit behind it.
  private static func quantity(_ text: String, _ units: [Character: Int]) -> Int? {
    let unit = text.last.flatMap { units[$0] }
    guard let number = Int(text.dropLast(unit == nil ? 0 : 1)), number > 0 else { return nil }
    let (quantity, isTooLarge) = number.multipliedReportingOverflow(by: unit ?? 1)
    return isTooLarge ? nil : quantity
  }
}

extension EnvironmentVariable {
  /// - Parameters:
  ///   - path: What the variable sets.
  ///   - problem: What a value is for which `parse` returns `nil`.
  private init<Value: Sendable>(
    _ name: String, _ meaning: String, _ standard: String,
    _ path: any WritableKeyPath<Tap.Configuration, Value> & Sendable, otherwise problem: String = "",
    parse: @escaping @Sendable (String) -> Value?
  ) {
    self.init(
      name: name, meaning: meaning, standard: standard,
      take: { text, configuration in
        guard let value = parse(text) else { return problem }
        configuration[keyPath: path] = value
        return nil
      }, setting: { "\($0[keyPath: path])" })
  }
}

/// The settings of variables that lie within optional ones.
extension Tap.Configuration {
  fileprivate var host: String {
    get { endpoint?.address.host ?? "" }
    set { set(host: newValue, port: port) }
  }

  fileprivate var port: Int {
    get { endpoint?.address.port ?? 9464 }
    set { set(host: host, port: newValue) }
  }

  private mutating func set(host: String, port: Int) { endpoint?.address = .tcp(host: host, port: port) }

  fileprivate var access: Endpoint.Configuration.Access {
    get { endpoint?.access ?? .init() }
    set { endpoint?.access = newValue }
  }

  fileprivate var rotation: LogRotation {
    get { logging.rotation ?? LogRotation() }
    set { logging.rotation = newValue }
  }
}
