import TestSupport

@testable import TapCore

/// In every format, sums and counts are those that were recorded, and they add up at any moment.
struct AddUpTests {
  @Test(arguments: 1...Extent.of(2, extensive: 4))
  func `protobuf has what was recorded`(seed: Int) throws {
    var random = try RandomRegistry(seed: seed)
    random.recordSome()
    let exposition = try #require(ProtobufExposition(random.registry.exposition(in: .protobuf).body))
    #expect(exposition.samples == random.expectedSamples)
    for histogram in exposition.histograms {
      #expect(histogram.nativeCount == histogram.count && histogram.nativeBucketCount <= 160)
      #expect((-4...8).contains(histogram.schema))
    }
  }

  @Test(arguments: ExpositionFormat.allCases)
  func `counts add up while threads record`(format: ExpositionFormat) throws {
    let random = try RandomRegistry(seed: 7)
    let histograms = random.histograms.map(\.histogram)
    let (isOver, group) = (Gate(), DispatchGroup())
    for thread in 0..<Extent.of(2, extensive: 8) {
      group.enter()
      Thread.detachNewThread {
        var generator = SeededGenerator(seed: thread)
        while !isOver.isOpen {
          let value =
            Double.random(in: 0.001...1, using: &generator) / Double.random(in: 0.01...1, using: &generator)
          histograms[Int(generator.next() % UInt64(histograms.count))].record(value)
        }
        group.leave()
      }
    }
    var expositions: [Exposition] = []
    for _ in 0..<Extent.of(4, extensive: 20) { expositions.append(random.registry.exposition(in: format)) }
    isOver.open()
    group.wait()
    expositions.append(random.registry.exposition(in: format))

    var last: UInt64 = 0
    for exposition in expositions {
      let series = try #require(
        format == .protobuf ? Self.protobufSeries(exposition) : Self.textSeries(exposition))
      #expect(series.count == histograms.count)
      for histogram in series {
        #expect(histogram.buckets == histogram.buckets.sorted() && histogram.buckets.last == histogram.count)
        #expect(histogram.native == nil || histogram.native == histogram.count)
      }
      let total = series.reduce(0) { $0 + $1.count }
      #expect(total >= last)
      last = total
    }
    #expect(last == histograms.reduce(0) { $0 + $1.snapshot.count })
  }

  private struct Series {
    var buckets: [UInt64] = []
    var count: UInt64 = 0
    var native: UInt64?
  }

  private static func protobufSeries(_ exposition: Exposition) -> [Series]? {
    ProtobufExposition(exposition.body)?.histograms.map { histogram in
      let buckets = histogram.bucketCounts.reduce(into: []) { $0.append(($0.last ?? 0) &+ $1) }
      return Series(buckets: buckets, count: histogram.count, native: histogram.nativeCount)
    }
  }

  private static func textSeries(_ exposition: Exposition) -> [Series] {
    var series: [Series] = []
    var buckets: [UInt64] = []
    for line in exposition.text.split(separator: "\n") where line.hasPrefix("family_") {
      let value = line.split(separator: " ").last.flatMap { UInt64($0) } ?? .max
      if line.contains("_bucket{") { buckets.append(value) }
      guard line.prefix(while: { $0 != "{" && $0 != " " }).hasSuffix("_count") else { continue }
      series.append(Series(buckets: buckets, count: value))
      buckets = []
    }
    return series
  }
}
