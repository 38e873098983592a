/// What a registry tells about its own families.
enum RegistryStatistics {
  static let descriptors = [
    ("session_tap_series_overflow_total", "Label sets that found no room in their metric."),
    (
      "session_tap_dropped_values_total",
      "Values that no instrument can take: infinite, not a number, or below 0."
    ),
  ].compactMap { try? FamilyDescriptor(name: $0, help: $1, type: .counter, unit: nil) }

  static func families(of sources: [any MetricSource]) -> [any GatheredFamily] {
    let statistics = sources.flatMap(\.statistics)
    let counts = [
      statistics.map { ($0.metric, $0.overflowCount) },
      statistics.map { ($0.metric, $0.droppedCount > 0 ? $0.droppedCount : nil) },
    ]
    return zip(descriptors, counts).map { descriptor, counts in
      let samples = counts.compactMap { metric, count in
        count.map { MetricFamily.Sample(labels: ["metric": metric], value: Double($0)) }
      }
      return GatheredSamples(descriptor: descriptor, samples: samples)
    }
  }
}
