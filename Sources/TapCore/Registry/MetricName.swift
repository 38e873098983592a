/// The rules for names (Prometheus data model, "Metric names and labels").
package enum MetricName {
  /// `[a-zA-Z_:][a-zA-Z0-9_:]*`
  static func isValid(_ name: String) -> Bool { matches(name) { isLetter($0) || $0 == UInt8(ascii: ":") } }

  /// `[a-zA-Z_][a-zA-Z0-9_]*`, without the two leading underscores that Prometheus keeps for itself.
  package static func isValidLabel(_ name: String) -> Bool {
    matches(name, isLetter) && !name.hasPrefix("__")
  }

  private static func matches(_ name: String, _ isHead: (UInt8) -> Bool) -> Bool {
    guard let first = name.utf8.first, isHead(first) else { return false }
    return name.utf8.dropFirst().allSatisfy { isHead($0) || $0.isASCIIDigit }
  }

  private static func isLetter(_ byte: UInt8) -> Bool { byte.isASCIILetter || byte == UInt8(ascii: "_") }

  /// The label of all series beyond the limit of a family (OpenTelemetry metrics SDK, "Overflow attribute").
  static let overflowLabel = "otel_metric_overflow"

  /// `le` and `quantile` belong to histograms and summaries.
  private static let reserved: Set<String> = ["le", "quantile", overflowLabel]

  /// Throws for the first name that cannot be used.
  static func checkLabels(_ names: [String], metric: String) throws(RegistryError) {
    var seen: Set<String> = []
    for name in names {
      func refuse(_ code: RegistryError.Code) -> RegistryError { .init(code, metric: metric, detail: name) }
      if !isValidLabel(name) { throw refuse(.invalidLabelName) }
      if reserved.contains(name) { throw refuse(.reservedLabelName) }
      if !seen.insert(name).inserted { throw refuse(.duplicateLabelName) }
    }
  }

  /// How labels are rendered, once their names are known to be valid.
  static func renderer(
    of labels: Labels, metric: String
  ) throws(RegistryError) -> @Sendable (Labels) -> RenderedLabels {
    try checkLabels(labels.pairs.map(\.name), metric: metric)
    return { RenderedLabels($0.pairs) }
  }

  /// How keys of a type are rendered, once their names are known to be valid.
  static func renderer<Key: LabelSet>(
    of key: Key.Type, metric: String
  ) throws(RegistryError) -> @Sendable (Key) -> RenderedLabels {
    let labels = Key.labels.sorted { $0.name < $1.name }
    try checkLabels(labels.map(\.name), metric: metric)
    return { key in
      RenderedLabels(
        labels.lazy.compactMap { label in label.value(key).map { Labels.Pair(name: label.name, value: $0) } })
    }
  }
}
