/// What identifies a metric family and stands above its samples.
struct FamilyDescriptor: Sendable, Equatable {
  let name: String
  let help: String
  let type: MetricType
  let unit: String?

  init(name: String, help: String, type: MetricType, unit: String?) throws(RegistryError) {
    guard MetricName.isValid(name) else { throw RegistryError(.invalidName, metric: name) }
    (self.name, self.help, self.type, self.unit) = (name, help, type, unit)
    // OpenMetrics 1.0, "Counter", "Info" and "UNIT metadata". The unit is compared byte by byte: to Swift,
    // letters with other bytes may be equal.
    if type == .counter, baseName == name { throw RegistryError(.counterWithoutTotal, metric: name) }
    if type == .info, baseName == name { throw RegistryError(.infoWithoutSuffix, metric: name) }
    if let unit, type == .info || !MetricName.isValid("_" + unit) || !baseName.hasSuffix("_" + unit) {
      throw RegistryError(.unitNotInName, metric: name, detail: unit)
    }
  }

  /// The name without the suffix that its type demands: OpenMetrics calls this the family's name.
  var baseName: String {
    switch type {
    case .counter: name.dropping(suffix: "_total")
    case .info: name.dropping(suffix: "_info")
    case .gauge, .histogram, .legacyCounter: name
    }
  }

  /// Every name that the family takes in any format. No two families may share one. `_created` is the
  /// family's in OpenMetrics, whether it is written or not: a reader refuses another family of that name.
  var claims: [String] {
    switch type {
    case .counter: [baseName, name, baseName + "_created"]
    case .gauge, .legacyCounter: [name]
    case .histogram: [name] + ["_bucket", "_count", "_sum", "_created"].map { name + $0 }
    case .info: [baseName, name]
    }
  }
}

extension String {
  fileprivate func dropping(suffix: String) -> String {
    hasSuffix(suffix) && utf8.count > suffix.utf8.count ? String(dropLast(suffix.count)) : self
  }
}

enum MetricType: String, Sendable {
  case counter, gauge, histogram
  /// Text 0.0.4 and protobuf have no such type and call it a gauge.
  case info
  /// A counter whose name may lack `_total`. OpenMetrics, which has no such counter, calls it `unknown`.
  case legacyCounter = "unknown"

  /// Whether a sample may have this value: a counter's is never below 0 and never "not a number", an info's
  /// is always 1 (OpenMetrics 1.0, "Counter" and "Info").
  func accepts(_ value: Double) -> Bool {
    switch self {
    case .counter, .legacyCounter: value >= 0
    case .info: value == 1
    case .gauge, .histogram: true
    }
  }
}
