/// What a registry tells about its own families.
enum RegistryStatistics {
  static let overflow = "session_tap_series_overflow_total"
  static let dropped = "session_tap_dropped_values_total"

  /// The names that the two families take.
  static let names = [
    overflow, "session_tap_series_overflow", "session_tap_series_overflow_created",
    dropped, "session_tap_dropped_values", "session_tap_dropped_values_created",
  ]

  /// The families; one without samples is left out.
  static func families(of sources: [any MetricSource]) -> [any GatheredFamily] {
    let statistics = sources.flatMap(\.statistics)
    let overflows = statistics.compactMap { family in
      family.overflowCount.map { sample(family.metric, $0) }
    }
    let drops = statistics.filter { $0.droppedCount > 0 }.map { sample($0.metric, $0.droppedCount) }
    return [
      family(overflow, "Label sets that found no room in their metric.", overflows),
      family(dropped, "Values that no instrument can take: infinite, not a number, or below 0.", drops),
    ].compactMap { $0 }
  }

  private static func sample(_ metric: String, _ count: UInt64) -> GatheredSamples.Sample {
    GatheredSamples.Sample(MetricFamily.Sample(labels: ["metric": metric], value: Double(count)))
  }

  private static func family(
    _ name: String, _ help: String, _ samples: [GatheredSamples.Sample]
  ) -> (any GatheredFamily)? {
    guard !samples.isEmpty,
      let descriptor = try? FamilyDescriptor(name: name, help: help, type: .counter, unit: nil)
    else { return nil }
    return GatheredSamples(descriptor: descriptor, samples: samples)
  }
}
