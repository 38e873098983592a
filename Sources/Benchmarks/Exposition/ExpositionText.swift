import SessionTap

extension Benchmark {
  /// The text exposition of 1,000 series with 14 buckets each, into a buffer that is used again; beside a copy of the
  /// same bytes.
  static let expositionText1000 = Benchmark(
    "exposition.text.1000", unit: "ms", reference: "a memcpy of the same bytes", rounds: 31,
    value: {
      let registry = try SeriesFixture.registry(seriesCount: 1_000)
      var buffer: [UInt8] = []
      registry.write(.text, into: &buffer)
      return Stopwatch.nanoseconds(per: repetitions) {
        for _ in 0..<repetitions { registry.write(.text, into: &buffer) }
      } / 1e6
    },
    referenceValue: {
      var source: [UInt8] = []
      try SeriesFixture.registry(seriesCount: 1_000).write(.text, into: &source)
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

  /// Time per series at 100,000 series, beside 1,000.
  static let expositionScaling = Benchmark(
    "exposition.scaling", unit: "ns", reference: "per series at 1,000 series", rounds: 5,
    value: { try nanosecondsPerSeries(100_000) }, referenceValue: { try nanosecondsPerSeries(1_000) })

  private static func nanosecondsPerSeries(_ count: Int) throws -> Double {
    let registry = try SeriesFixture.registry(seriesCount: count)
    var buffer: [UInt8] = []
    registry.write(.text, into: &buffer)
    // As many series in all, so that both are measured for as long.
    let repetitions = 100_000 / count
    return Stopwatch.nanoseconds(per: count * repetitions) {
      for _ in 0..<repetitions { registry.write(.text, into: &buffer) }
    }
  }
}
