public import Configuration
import Foundation
public import SessionTap

extension Tap.Configuration {
  /// Makes the configuration of the process's environment, changed by a reader of swift-configuration, such
  /// as `config.scoped(to: "tap")`.
  ///
  /// The keys are those of the variables, without their beginning and in this spelling: `logRotationSize` is
  /// `SESSION_TAP_LOG_ROTATION_SIZE`, and `serviceName` is `OTEL_SERVICE_NAME`. The article *Metrics and
  /// limits* lists the variables and their values. A flag is a boolean, too. What cannot be used is ignored
  /// and named in `warnings`, by its variable.
  public init(config: ConfigReader) {
    var environment = ProcessInfo.processInfo.environment
    for (key, variable) in Self.keys {
      guard let text = config.text(of: key) else { continue }
      environment[variable] = text
    }
    self.init(environment: environment)
  }

  private static let keys = [
    "host": "SESSION_TAP_HOST", "port": "SESSION_TAP_PORT", "allowNetwork": "SESSION_TAP_ALLOW_NETWORK",
    "bearerTokenFile": "SESSION_TAP_BEARER_TOKEN_FILE",
    "basicPasswordFile": "SESSION_TAP_BASIC_PASSWORD_FILE", "log": "SESSION_TAP_LOG",
    "logRotationSize": "SESSION_TAP_LOG_ROTATION_SIZE", "logRotationKeep": "SESSION_TAP_LOG_ROTATION_KEEP",
    "serveLog": "SESSION_TAP_SERVE_LOG", "blackBox": "SESSION_TAP_BLACK_BOX",
    "waitingLimit": "SESSION_TAP_WAITING_LIMIT",
    "learnPaths": "SESSION_TAP_LEARN_PATHS", "serviceName": "OTEL_SERVICE_NAME",
    "resourceAttributes": "OTEL_RESOURCE_ATTRIBUTES",
    "knownMethods": "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", "sdkDisabled": "OTEL_SDK_DISABLED",
    "tracesSampler": "OTEL_TRACES_SAMPLER", "tracesSamplerArg": "OTEL_TRACES_SAMPLER_ARG",
    "exemplarFilter": "OTEL_METRICS_EXEMPLAR_FILTER",
  ]
}

extension ConfigReader {
  /// A value as a variable has it, whatever its type where it was written.
  fileprivate func text(of key: String) -> String? {
    let key = ConfigKey(key)
    if let text = string(forKey: key) { return text }
    if let number = int(forKey: key) { return String(number) }
    if let number = double(forKey: key) { return String(number) }
    guard let flag = bool(forKey: key) else { return nil }
    return key.components == ["sdkDisabled"] ? String(flag) : flag ? "1" : "0"
  }
}
