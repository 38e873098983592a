import Foundation
import TapEndpoint
import TapLog

/// A variable of the environment that a tap reads. The article "Metrics and limits" says what each sets, and
/// its default.
struct EnvironmentVariable: Sendable {
  let name: String
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
  static let host = own + "HOST"
  static let port = own + "PORT"
  /// OpenTelemetry's names, in effect where the tap's own are not set.
  static let otherNames = [host: otherHost, port: otherPort]
  private static let otherHost = "OTEL_EXPORTER_PROMETHEUS_HOST"
  private static let otherPort = "OTEL_EXPORTER_PROMETHEUS_PORT"
  static let serviceName = "OTEL_SERVICE_NAME"
  static let resourceAttributes = "OTEL_RESOURCE_ATTRIBUTES"
  static let allowNetwork = own + "ALLOW_NETWORK"
  static let bearerTokenFile = own + "BEARER_TOKEN_FILE"
  static let basicPasswordFile = own + "BASIC_PASSWORD_FILE"
  static let log = own + "LOG"
  static let rotation = own + "LOG_ROTATION_"
  static let rotationKeep = rotation + "KEEP"
  static let serveLog = own + "SERVE_LOG"

  /// Those of the endpoint, which an app may have none of.
  static let ofEndpoint = Set([host, port, allowNetwork, bearerTokenFile, basicPasswordFile, serveLog])
    .union(otherNames.values)

  private static func hostVariable(_ name: String) -> EnvironmentVariable {
    EnvironmentVariable(name, \.host, otherwise: "neither an IP address nor a host name") {
      $0.lowercased() == "localhost" ? "127.0.0.1" : HostText.parse($0)
    }
  }

  private static func portVariable(_ name: String) -> EnvironmentVariable {
    EnvironmentVariable(name, \.port, otherwise: "not a port") {
      Int($0).flatMap { (0...65_535).contains($0) ? $0 : nil }
    }
  }

  static let all = [
    hostVariable(host), portVariable(port), hostVariable(otherHost), portVariable(otherPort),
    // The target is made of both variables.
    EnvironmentVariable(name: serviceName, take: { _, _ in nil }, setting: { "\($0.target)" }),
    EnvironmentVariable(name: resourceAttributes, take: { _, _ in nil }, setting: { "\($0.target)" }),
    EnvironmentVariable(
      "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", \.knownMethods, otherwise: "which names no method"
    ) { value in
      let methods = value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        .filter { !$0.isEmpty }
      return methods.isEmpty ? nil : methods
    },
    EnvironmentVariable(
      allowNetwork, \.access.allowsAnyoneFromNetwork, otherwise: notFlag, parse: flag),
    EnvironmentVariable(bearerTokenFile, \.access.bearerTokenFile) { $0 },
    EnvironmentVariable(basicPasswordFile, \.access.basicPasswordFile) { $0 },
    EnvironmentVariable(log, \.log, otherwise: "neither 'off' nor places, separated by commas") { value in
      let places = value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      if places == ["off"] { return .some(nil) }
      guard places.allSatisfy({ !$0.isEmpty && $0 != "off" }) else { return nil }
      return .some(RequestLog.Destination(places.map(place)))
    },
    EnvironmentVariable(
      rotation + "SIZE", \.rotation.maximumSize, otherwise: "not a number of bytes above 0, such as 100M"
    ) { quantity($0, ["k": 1 << 10, "M": 1 << 20, "G": 1 << 30]) },
    EnvironmentVariable(rotationKeep, \.rotation.keep, otherwise: "not a number of files") {
      Int($0).flatMap { $0 < 0 ? nil : $0 }
    },
    EnvironmentVariable(serveLog, \.servesLog, otherwise: notFlag, parse: flag),
  ]

  private static func place(_ text: String) -> RequestLog.Destination {
    switch text {
    case "stderr": .standardError
    case "stdout": .standardOutput
    default: .file(text)
    }
  }

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
    _ name: String, _ path: any WritableKeyPath<Tap.Configuration, Value> & Sendable,
    otherwise problem: String = "", parse: @escaping @Sendable (String) -> Value?
  ) {
    self.init(
      name: name,
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

  /// -1 where the code has set a Unix socket.
  fileprivate var port: Int {
    get { endpoint?.address.port ?? -1 }
    set { set(host: host, port: newValue) }
  }

  private mutating func set(host: String, port: Int) { endpoint?.address = .tcp(host: host, port: port) }

  fileprivate var access: Endpoint.Configuration.Access {
    get { endpoint?.access ?? .init() }
    set { endpoint?.access = newValue }
  }

  fileprivate var rotation: LogRotation {
    get { logging.rotation ?? LogRotation(maximumSize: .max) }
    set { logging.rotation = newValue }
  }
}
