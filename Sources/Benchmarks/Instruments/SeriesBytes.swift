import SessionTap

extension Benchmark {
  /// Heap memory of one series, its labels and its place in the family included, after 1,000 lognormal observations;
  /// beside one that has none.
  static let seriesBytes = Benchmark(
    "series.bytes", unit: "B", reference: "a series without observations", rounds: 3,
    value: { try bytesPerSeries(observations: 1_000) },
    referenceValue: { try bytesPerSeries(observations: 0) })

  private static let seriesCount = 1_500

  private static func bytesPerSeries(observations: Int) throws -> Double {
    let values = Samples.durations.prefix(observations)
    let registry = Registry()
    let family = try registry.histogram("duration_seconds", help: "", by: Route.self)
    let before = try Heap.bytesInUse()
    for number in 0..<seriesCount {
      let histogram = family[Route(path: "/route/\(number)", status: 200)]
      for value in values { histogram.record(value) }
    }
    let after = try Heap.bytesInUse()
    return withExtendedLifetime(family) { Double(after - before) / Double(seriesCount) }
  }

  private struct Route: LabelSet {
    let path: String
    let status: Int

    static let labels = [Label<Route>("path", \.path), Label<Route>("status", \.status)]
  }
}
