/// What boards and rules may name, and what they must show.
struct DashboardContract {
  var emitted: EmittedMetrics
  var folder: DashboardFolder

  /// What Prometheus itself has of every target, and of the rules' alerts.
  private static let prometheus: [String: Set<String>] = [
    "up": [], "scrape_duration_seconds": [], "scrape_samples_scraped": [],
    "ALERTS": ["alertname", "alertstate"],
  ]
  /// What Prometheus adds to every series, or rules to those that they record.
  private static let added: Set = ["job", "instance", "quantile", "alertname", "alertstate"]

  /// What is named and not emitted.
  var unknown: [String] {
    let everyLabel = emitted.labels.values.reduce(Self.added) { $0.union($1) }
    return folder.all.flatMap { query in
      let metrics = query.names.metrics.flatMap { metric, labels -> [String] in
        guard let own = self.labels(of: metric, every: everyLabel) else { return ["metric \(metric)"] }
        return labels.subtracting(own).subtracting(Self.added).map { "label \($0) of \(metric)" }
      }
      let grouping = query.names.grouping.subtracting(everyLabel).map { "label \($0)" }
      return (metrics + grouping).map { "\(query.place): \($0)" }
    }
  }

  /// The metrics that are emitted, and that no board shows.
  var unseen: [String] {
    let shown = Set(folder.boards.flatMap(\.names.metrics.keys).compactMap(emitted.family(of:)))
    return emitted.types.keys.filter { !shown.contains($0) }.sorted()
  }

  private func labels(of metric: String, every: Set<String>) -> Set<String>? {
    if let own = emitted.labels(of: metric) ?? Self.prometheus[metric] { return own }
    // Which labels a recorded series has, its rule says: they are checked there.
    if folder.recorded.contains(metric) { return every }
    // A pattern: of it, one metric has to be there.
    guard metric.contains(where: "()?|*+.".contains), let pattern = try? Regex(metric) else { return nil }
    return emitted.types.keys.first { $0.wholeMatch(of: pattern) != nil }.flatMap(emitted.labels(of:))
  }
}
