/// `target_info`: OpenTelemetry's resource attributes as labels.
///
/// Without attributes the metric is absent. It has at most 64.
package struct TargetInfo: Collector {
  package static let maximumAttributeCount = 64

  package let labels: Labels

  /// Takes the values of `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`: `key=value` pairs with commas
  /// between them, values percent-encoded (OpenTelemetry resource SDK). White space around names and values
  /// is ignored, and so is anything that is no pair. The service's name takes precedence over the attribute
  /// `service.name`.
  package init(serviceName: String?, resourceAttributes: String? = nil) {
    var values: [String: String] = [:]
    if let serviceName, !serviceName.isEmpty { values["service_name"] = serviceName }
    for pair in (resourceAttributes ?? "").split(separator: ",") {
      let sides = pair.utf8.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false
      )
      .map(Self.trimmed)
      guard sides.count == 2, values.count < Self.maximumAttributeCount,
        let name = Self.labelName(Substring(sides[0])), values[name] == nil
      else { continue }
      values[name] = String(decoding: PercentEncoding.decoded(sides[1]), as: UTF8.self)
    }
    labels = Labels(values)
  }

  private init(labels: Labels) { self.labels = labels }

  /// The same resource under another name; without one if it is `nil` or empty.
  package func with(serviceName: String?) -> TargetInfo {
    var pairs = labels.pairs.filter { $0.name != "service_name" }.map { ($0.name, $0.value) }
    if let serviceName, !serviceName.isEmpty {
      pairs = pairs.prefix(Self.maximumAttributeCount - 1) + [("service_name", serviceName)]
    }
    return TargetInfo(labels: Labels(pairs))
  }

  package subscript(label: String) -> String? { labels.pairs.first { $0.name == label }?.value }

  /// One family, or none.
  package func collect() -> [MetricFamily] {
    guard labels != .none else { return [] }
    return [
      MetricFamily(
        name: "target_info", help: "The service and what it runs on.", kind: .info,
        samples: [.init(labels: labels, value: 1)])
    ]
  }

  /// W3C Baggage, section 3.3.1, allows white space around names and values. A file of variables may also
  /// leave newlines there.
  private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
    let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
    guard let last = text.lastIndex(where: { !isBlank($0) }) else { return text[text.endIndex...] }
    return text[...last].drop(while: isBlank)
  }

  /// `service.name` becomes `service_name` (OpenTelemetry, Prometheus compatibility). `nil` if no label name
  /// is left.
  private static func labelName(_ key: Substring) -> String? {
    let name = String(key.map { MetricName.isValidLabel("a\($0)") ? $0 : "_" })
    return (try? MetricName.checkLabels([name], metric: "target_info")) == nil ? nil : name
  }
}

/// `session_tap_build_info`: the version of SessionTap, and what it reads transfers and connections from.
package struct BuildInfo: Collector {
  package static let version = "0.1.0"

  private let sources: @Sendable () -> [String: String]

  /// - Parameter sources: A label for each kind of data, whose value names its source, or is `none`.
  package init(sources: @escaping @Sendable () -> [String: String] = { [:] }) { self.sources = sources }

  package func collect() -> [MetricFamily] {
    let labels = sources().merging(["version": Self.version]) { $1 }
    return [
      MetricFamily(
        name: "session_tap_build_info", help: "The version of SessionTap.", kind: .info,
        samples: [.init(labels: Labels(labels), value: 1)])
    ]
  }
}
