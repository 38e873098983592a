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
  let setting: @Sendable (Tap.Configuration) -> String?

  /// What a variable has set.
  struct Assignment: Sendable {
    let variable: EnvironmentVariable
    let value: String
    var setting: String?

    func holds(in configuration: Tap.Configuration) -> Bool { variable.setting(configuration) == setting }
  }

  private init(
    _ name: String, _ meaning: String, _ standard: String = "none",
    setting: @escaping @Sendable (Tap.Configuration) -> String?,
    take: @escaping @Sendable (String, inout Tap.Configuration) -> String?
  ) {
    (self.name, self.meaning, self.standard) = (name, meaning, standard)
    (self.take, self.setting) = (take, setting)
  }

  static let own = "SESSION_TAP_"
  static let host = "OTEL_EXPORTER_PROMETHEUS_HOST"
  static let port = "OTEL_EXPORTER_PROMETHEUS_PORT"
  static let bearerTokenFile = own + "BEARER_TOKEN_FILE"
  static let basicPasswordFile = own + "BASIC_PASSWORD_FILE"
  static let log = own + "LOG"
  static let rotationKeep = own + "LOG_ROTATION_KEEP"

  static let all = address + service + access + logs

  private static let address = [
    EnvironmentVariable(
      host, "the host to serve the metrics at: an IP address or a name", "`localhost`",
      setting: { $0.endpoint?.address.host }
    ) { value, configuration in
      let isDefault = value.lowercased() == "localhost"
      guard let host = isDefault ? "127.0.0.1" : EndpointAddress.parseHost(value) else {
        return "neither an IP address nor a host name"
      }
      let port = configuration.endpoint?.address.port ?? 9464
      configuration.endpoint?.address = .tcp(host: host, port: port)
      return nil
    },
    EnvironmentVariable(
      port, "its port; 0 takes a free one", "`9464`", setting: { $0.endpoint?.address.port.map(String.init) }
    ) { value, configuration in
      guard let port = Int(value), (0...65_535).contains(port) else { return "not a port" }
      let host = configuration.endpoint?.address.host ?? "127.0.0.1"
      configuration.endpoint?.address = .tcp(host: host, port: port)
      return nil
    },
  ]

  /// The target is made of both variables.
  private static let service = [
    EnvironmentVariable(
      "OTEL_SERVICE_NAME", "`target_info`, and `service.name` in the log", setting: { "\($0.target)" },
      take: { _, _ in nil }),
    EnvironmentVariable(
      "OTEL_RESOURCE_ATTRIBUTES", "`target_info`, and `service.name` and `service.version` in the log",
      setting: { "\($0.target)" }, take: { _, _ in nil }),
    EnvironmentVariable(
      "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", "methods that appear as themselves, separated by commas",
      "RFC 9110, PATCH, QUERY", setting: { $0.knownMethods.joined(separator: ",") }
    ) { value, configuration in
      let methods = value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        .filter { !$0.isEmpty }
      if methods.isEmpty { return "which names no method" }
      configuration.knownMethods = methods
      return nil
    },
  ]

  private static let access = [
    EnvironmentVariable(
      own + "ALLOW_NETWORK", "`1` serves an address that other machines reach without credentials", "`0`",
      setting: { $0.endpoint.map { String($0.access.allowsAnyoneFromNetwork) } }
    ) { value, configuration in
      flag(value) { configuration.endpoint?.access.allowsAnyoneFromNetwork = $0 }
    },
    EnvironmentVariable(
      bearerTokenFile, "a file of bearer tokens, of which each request needs one",
      setting: { $0.endpoint?.access.bearerTokenFile }
    ) { value, configuration in
      configuration.endpoint?.access.bearerTokenFile = value
      return nil
    },
    EnvironmentVariable(
      basicPasswordFile, "a file of lines `user:password`, of which each request needs one",
      setting: { $0.endpoint?.access.basicPasswordFile }
    ) { value, configuration in
      configuration.endpoint?.access.basicPasswordFile = value
      return nil
    },
  ]

  private static let logs = [
    EnvironmentVariable(
      log, "a path, `stderr`, `stdout` or `off`", "`off`", setting: { $0.log?.name ?? "off" }
    ) { value, configuration in
      switch value {
      case "off": configuration.log = nil
      case "stderr": configuration.log = .standardError
      case "stdout": configuration.log = .standardOutput
      default: configuration.log = .file(value)
      }
      return nil
    },
    EnvironmentVariable(
      own + "LOG_ROTATION_SIZE",
      "the maximum size of the log's file: bytes, or with a unit, `100M` (`k`, `M`, `G`)",
      setting: { $0.logging.rotation?.maximumSize.map(String.init) }
    ) { value, configuration in
      guard let size = quantity(value, ["k": 1 << 10, "M": 1 << 20, "G": 1 << 30]) else {
        return "not a number of bytes above 0, such as 100M"
      }
      configuration.rotate { $0.maximumSize = size }
      return nil
    },
    EnvironmentVariable(
      own + "LOG_ROTATION_INTERVAL",
      "the time that a file covers: seconds, or with a unit, `1d` (`s`, `m`, `h`, `d`)",
      setting: { $0.logging.rotation?.interval.map { "\($0)" } }
    ) { value, configuration in
      guard let seconds = quantity(value, ["s": 1, "m": 60, "h": 3_600, "d": 86_400]) else {
        return "not a time of a second or more, such as 1d"
      }
      configuration.rotate { $0.interval = .seconds(seconds) }
      return nil
    },
    EnvironmentVariable(
      rotationKeep, "how many old files to keep", "`5`",
      setting: { $0.logging.rotation.map { String($0.keep) } }
    ) { value, configuration in
      guard let keep = Int(value), keep >= 0 else { return "not a number of files" }
      configuration.rotate { $0.keep = keep }
      return nil
    },
    EnvironmentVariable(
      own + "SERVE_LOG", "`1` serves the newest lines at `/logs` and on the page", "`0`",
      setting: { String($0.servesLog) }
    ) { value, configuration in
      flag(value) { configuration.servesLog = $0 }
    },
  ]

  private static func flag(_ value: String, _ take: (Bool) -> Void) -> String? {
    guard ["0", "1"].contains(value) else { return "neither 1 nor 0" }
    take(value == "1")
    return nil
  }

  /// A number above 0, with or without a unit behind it.
  private static func quantity(_ text: String, _ units: [Character: Int]) -> Int? {
    let unit = text.last.flatMap { units[$0] }
    guard let number = Int(text.dropLast(unit == nil ? 0 : 1)), number > 0 else { return nil }
    let (quantity, isTooLarge) = number.multipliedReportingOverflow(by: unit ?? 1)
    return isTooLarge ? nil : quantity
  }
}

extension Tap.Configuration {
  fileprivate mutating func rotate(_ change: (inout LogRotation) -> Void) {
    var rotation = logging.rotation ?? LogRotation()
    change(&rotation)
    logging.rotation = rotation
  }
}
