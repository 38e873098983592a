/// The check of label names, which typed keys and run-time labels share.
enum LabelNames {
  /// `le` and `quantile` belong to the samples of histograms and summaries.
  private static let reserved: Set<String> = ["le", "quantile"]

  /// Throws for the first name that cannot be used.
  static func check(_ names: [String], metric: String) throws(RegistryError) {
    var seen: Set<String> = []
    for name in names {
      guard MetricName.isValidLabel(name) else {
        throw RegistryError(.invalidLabelName, metric: metric, detail: name)
      }
      guard !reserved.contains(name) else {
        throw RegistryError(.reservedLabelName, metric: metric, detail: name)
      }
      guard seen.insert(name).inserted else {
        throw RegistryError(.duplicateLabelName, metric: metric, detail: name)
      }
    }
  }

  /// How keys of a type are rendered, once their names are known to be valid.
  static func renderer<Key: LabelSet>(
    of key: Key.Type, metric: String
  ) throws(RegistryError) -> @Sendable (Key) -> RenderedLabels {
    let labels = Key.labels.sorted { $0.name < $1.name }
    try check(labels.map(\.name), metric: metric)
    return { key in
      RenderedLabels(
        labels.lazy.compactMap { label in
          label.value(key).map { Labels.Pair(name: label.name, value: $0) }
        })
    }
  }
}
