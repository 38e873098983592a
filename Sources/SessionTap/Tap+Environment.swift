import Foundation
import TapEndpoint
import TapLog

extension Tap.Configuration {
  /// Makes the default configuration, changed by the environment.
  ///
  /// | variable | meaning |
  /// |---|---|
  /// | `OTEL_EXPORTER_PROMETHEUS_HOST` | the host to serve the metrics at, an IP address or a name (`localhost`) |
  /// | `OTEL_EXPORTER_PROMETHEUS_PORT` | the port (`9464`) |
  /// | `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` | the labels of `target_info`; the name, and the attribute `service.version`, are also fields of each log line |
  /// | `OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS` | the methods that appear as themselves, separated by commas |
  /// | `SESSION_TAP_LOG` | a path, `stderr` or `off` |
  ///
  /// A variable whose value cannot be used is left alone and named in ``warnings``: by the OpenTelemetry
  /// specification ("Environment Variable Specification", "Parsing") a service must not fail for it. Whether a host
  /// that is well-formed resolves, and its port is free, shows at the start, which throws. What the app sets afterwards
  /// wins.
  public init(environment: [String: String]) {
    self.init()
    let text = { (name: String) in environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    var host = "127.0.0.1"
    var port = 9464
    if let value = text("OTEL_EXPORTER_PROMETHEUS_HOST"), value.lowercased() != "localhost" {
      if let valid = EndpointAddress.parseHost(value) {
        host = valid
      } else {
        warnings.append(
          "OTEL_EXPORTER_PROMETHEUS_HOST is '\(value)', neither an IP address nor a host name: \(host) is used"
        )
      }
    }
    if let value = text("OTEL_EXPORTER_PROMETHEUS_PORT") {
      if let number = Int(value), (0...65_535).contains(number) {
        port = number
      } else {
        warnings.append("OTEL_EXPORTER_PROMETHEUS_PORT is '\(value)', not a port: \(port) is used")
      }
    }
    endpoint = Endpoint.Configuration(address: .tcp(host: host, port: port))
    target = TargetInfo(
      serviceName: text("OTEL_SERVICE_NAME"), resourceAttributes: text("OTEL_RESOURCE_ATTRIBUTES"))
    for (field, label) in [("service.name", "service_name"), ("service.version", "service_version")] {
      if let value = target[label] { logOptions.fields[field] = .string(value) }
    }
    if let value = text("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS") {
      let methods = value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        .filter { !$0.isEmpty }
      if methods.isEmpty {
        warnings.append(
          "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS is '\(value)', which names no method: the default is used")
      } else {
        metrics.knownMethods = methods
        inbound.knownMethods = methods
        logOptions.knownMethods = methods
      }
    }
    switch text("SESSION_TAP_LOG") {
    case nil, "off": log = nil
    case "stderr": log = .standardError
    case .some(let path): log = .file(path)
    }
  }
}
