import SessionTap

extension Benchmark {
  /// The text exposition of 1,000 series with 14 buckets each; beside a copy of the same bytes.
  static let expositionText1000 = Benchmark(
    "exposition.text.1000", unit: "ms", reference: "a memcpy of the same bytes", rounds: 31,
    value: {
      let registry = try SeriesFixture.make(seriesCount: 1_000)
      _ = registry.exposition()
      return Stopwatch.nanoseconds(per: repetitions) {
        for _ in 0..<repetitions { _ = registry.exposition() }
      } / 1e6
    },
    referenceValue: {
      let source = try SeriesFixture.make(seriesCount: 1_000).exposition().body
      var target = source
      // Writing makes the copy its own before the clock starts.
      target[0] = 0
      return Stopwatch.nanoseconds(per: repetitions) {
        for _ in 0..<repetitions {
          target.withUnsafeMutableBytes { target in source.withUnsafeBytes { target.copyMemory(from: $0) } }
        }
      } / 1e6
    })

  private static let repetitions = 5

  static let expositionTextInstructions = Benchmark(
    "exposition.text.1000.instructions", unit: "instructions", reference: "a memcpy of the same bytes",
    rounds: 1, isUsable: Valgrind.isInstalled,
    value: { try await Valgrind.instructions(of: .exposition, count: 10) },
    referenceValue: { try await Valgrind.instructions(of: .memcpy, count: 10) })

  /// Time per series at 100,000 series, beside 100 registries of 1,000 series that are written one after
  /// another: a scrape comes every few seconds and finds the caches cold, and so must both. Written in
  /// pieces, as a scrape that is compressed is: the 200 MB of the whole text would be pages that the system
  /// maps and clears for each scrape, which takes longer than to write them.
  static let expositionScaling = Benchmark(
    "exposition.scaling", unit: "ns", reference: "per series at 1,000 series", rounds: 3,
    value: { try nanosecondsPerSeries(registries: 1, of: 100_000) },
    referenceValue: { try nanosecondsPerSeries(registries: 100, of: 1_000) })

  private static func nanosecondsPerSeries(registries count: Int, of seriesCount: Int) throws -> Double {
    let registries = try (0..<count).map { _ in try SeriesFixture.make(seriesCount: seriesCount) }
    for registry in registries { registry.write(in: .text) { _ in } }
    return Stopwatch.nanoseconds(per: count * seriesCount) {
      for registry in registries { registry.write(in: .text) { _ in } }
    }
  }
}
