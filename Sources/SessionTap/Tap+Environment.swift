import Foundation
import TapEndpoint
import TapLog

extension Tap.Configuration {
  /// Makes the default configuration, changed by an environment.
  ///
  /// | variable | meaning |
  /// |---|---|
  /// | `OTEL_EXPORTER_PROMETHEUS_HOST` | the host to serve the metrics at, an IP address or a name (`localhost`) |
  /// | `OTEL_EXPORTER_PROMETHEUS_PORT` | the port (`9464`) |
  /// | `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` | the labels of `target_info`; the name, and the attribute `service.version`, are also fields of each log line |
  /// | `OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS` | the methods that appear as themselves, separated by commas |
  /// | `SESSION_TAP_LOG` | a path, `stderr`, `stdout` or `off` |
  /// | `SESSION_TAP_ALLOW_NETWORK` | `1`: serve an address that other machines reach without credentials |
  ///
  /// An invalid environment does not end an app (OpenTelemetry, "Environment Variable Specification",
  /// "Parsing"): a value that cannot be used, or an unknown variable `SESSION_TAP_…`, is ignored and named in
  /// ``warnings``. If the start finds that the address or the log cannot be used, the app runs without it,
  /// and a warning says why. Values set later take precedence.
  ///
  /// - Parameter environment: The variables; `[:]` gives the defaults.
  public init(environment: [String: String]) {
    let text = { (name: String) in environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    takeAddress(host: text("OTEL_EXPORTER_PROMETHEUS_HOST"), port: text("OTEL_EXPORTER_PROMETHEUS_PORT"))
    target = TargetInfo(
      serviceName: text("OTEL_SERVICE_NAME"), resourceAttributes: text("OTEL_RESOURCE_ATTRIBUTES"))
    for (field, label) in [("service.name", "service_name"), ("service.version", "service_version")] {
      if let value = target[label] { logOptions.fields[field] = .string(value) }
    }
    if let value = text("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS") {
      let methods = value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        .filter { !$0.isEmpty }
      if methods.isEmpty {
        warn("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", value, "which names no method: the default is used")
      } else {
        knownMethods = methods
      }
    }
    let logs = text("SESSION_TAP_LOG")
    switch logs {
    case nil, "off": log = nil
    case "stderr": log = .standardError
    case "stdout": log = .standardOutput
    case .some(let path): log = .file(path)
    }
    isLogOfEnvironment = logs != nil
    switch text("SESSION_TAP_ALLOW_NETWORK") {
    case nil, "0": break
    case "1": endpoint?.access.allowsAnyoneFromNetwork = true
    case .some(let value): warn("SESSION_TAP_ALLOW_NETWORK", value, "neither 1 nor 0: it is taken for 0")
    }
    let own = "SESSION_TAP_"
    let known = ["LOG", "ALLOW_NETWORK"].map { own + $0 }
    for name in environment.keys.sorted() where name.hasPrefix(own) && !known.contains(name) {
      warnings.append("there is no variable \(name): there are \(known.joined(separator: " and "))")
    }
  }

  private mutating func takeAddress(host value: String?, port number: String?) {
    var host = "127.0.0.1"
    var port = 9464
    if let value, value.lowercased() != "localhost" {
      if let valid = EndpointAddress.parseHost(value) {
        host = valid
      } else {
        warn("OTEL_EXPORTER_PROMETHEUS_HOST", value, "neither an IP address nor a host name: \(host) is used")
      }
    }
    if let number {
      if let valid = Int(number), (0...65_535).contains(valid) {
        port = valid
      } else {
        warn("OTEL_EXPORTER_PROMETHEUS_PORT", number, "not a port: \(port) is used")
      }
    }
    let address = EndpointAddress.tcp(host: host, port: port)
    endpoint?.address = address
    if value != nil || number != nil { environmentAddress = address }
  }

  private mutating func warn(_ name: String, _ value: String, _ problem: String) {
    warnings.append("\(name) is '\(value)', \(problem)")
  }
}
