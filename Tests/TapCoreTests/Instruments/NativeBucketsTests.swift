import TestSupport

@testable import TapCore

struct NativeBucketsTests {
  private let scale = NativeScale()

  private func buckets(of values: [Double]) -> NativeBuckets {
    var buckets = NativeBuckets()
    for value in values { buckets.record(value, bucket: scale.bucket(of: value.magnitude)) }
    return buckets
  }

  @Test func `begins fine and stays so for equal values, and what is near zero counts as zero`() {
    let equal = buckets(of: Array(repeating: 0.25, count: 1_000))
    #expect(equal.schema == 8 && equal.positive.entries == [.init(bucket: -513, count: 1_000)])
    // What is near zero counts as zero.
    let small = buckets(of: [0, -0.0, .leastNonzeroMagnitude, 0x1p-128, -0x1p-128, 0x1p-128.nextUp])
    #expect(small.zeroCount == 5 && small.positive.populatedCount == 1)
  }

  @Test(arguments: 1...Extent.of(2, extensive: 6))
  func `never has more than 160 buckets`(seed: Int) {
    var generator = SeededGenerator(seed: seed)
    let values = (0..<5_000).map { _ in
      Double(
        sign: Bool.random(using: &generator) ? .plus : .minus,
        exponent: Int.random(in: (-20 * seed)...(20 * seed), using: &generator),
        significand: Double.random(in: 1..<2, using: &generator))
    }
    let buckets = buckets(of: values)
    #expect(buckets.positive.populatedCount + buckets.negative.populatedCount <= 160)
    #expect(buckets.count == 5_000)
    #expect(buckets.positive.entries.reduce(0) { $0 + $1.count } == values.count { $0 > 0 })
    // As fine as the limit allows: twice the resolution would not do.
    let finer = Set(
      values.map { [scale.bucket(of: $0.magnitude) >> (8 - buckets.schema - 1), $0 > 0 ? 1 : 0] })
    #expect(finer.count > 160 || 40 * seed > 1_000 >> (buckets.schema + 1))
  }

  @Test func `160 buckets stay as fine as they are, and one more makes them coarser`() {
    // The middle of each bucket of the finest schema, on both sides of zero in turn.
    let values = (0..<161).map { number in
      let magnitude = System.powerOfTwo((Double(number / 2) + 0.5) / 256)
      return number.isMultiple(of: 2) ? magnitude : -magnitude
    }
    #expect([values.dropLast(), values].map { buckets(of: Array($0)).schema } == [8, 7])
    // So does a range of more than 1,024.
    let (one, sixteen) = (1.0.nextUp, 16.0.nextUp)
    #expect([[one, 16], [one, sixteen], [16, 1]].map { buckets(of: $0).schema } == [8, 7, 7])
  }

  @Test func `the widest range fits`() {
    let most = Double.greatestFiniteMagnitude
    let values = [most, 0x1p-127, 1, -1, -most, -0x1p-127]
    let widest = buckets(of: values)
    #expect(widest.count == 6 && widest.schema == -1)
    // Numbers of any size and sign, at the coarsest resolution.
    let magnitudes = (-128...1_023).map { Double(sign: .plus, exponent: $0, significand: 1.5) }
    let all = buckets(of: magnitudes + magnitudes.map { -$0 })
    let entries = (-8..<64).map { NativeCounts.Entry(bucket: $0, count: 16) }
    #expect(all.schema == -4 && all.positive.entries == entries && all.negative.entries == entries)
  }

  @Test func `counts beyond 16 bits are carried`() {
    let buckets = buckets(of: Array(repeating: 1, count: 200_000) + [1.5])
    #expect(buckets.positive.entries.map(\.count) == [200_000, 1])
    #expect(buckets.positive.populatedCount == 2)
    // At a lower resolution, too.
    let values = [Double](repeating: 1, count: 70_000) + [Double](repeating: 0.9, count: 10)
    let coarse = self.buckets(of: values + [1e300])
    #expect(coarse.positive.entries.map(\.count) == [70_010, 1])
  }

  @Test func `spans skip empty buckets`() {
    var counts = NativeCounts()
    for (bucket, count) in [(-3, 2), (-2, 5), (4, 1), (5, 1), (9, 7)] as [(Int, UInt64)] {
      let isAdded = counts.add(count, to: bucket)
      #expect(isAdded)
    }
    let spans = NativeSpans(counts)
    #expect(spans.spans.map(\.offset) == [-2, 5, 3] && spans.spans.map(\.length) == [2, 2, 1])
    #expect(spans.deltas == [2, 3, -4, 0, 6])
  }

  @Test func `quantiles of every sign`() throws {
    let histogram = try Registry().histogram("h", help: "")
    #expect(histogram.quantile(0.5) == nil)
    for value in [-4.0, -4, 0, 0, 1, 4] { histogram.record(value) }
    #expect([1.01, -0.01, .nan].map { histogram.quantile($0) } == [nil, nil, nil])
    // The least value is at the far end of its bucket, as the greatest one is.
    #expect([0, 0.5, 1].map { histogram.quantile($0) } == [-4, 0, 4])
    let (low, one) = (try #require(histogram.quantile(0.1)), try #require(histogram.quantile(0.75)))
    #expect(abs(low + 4) < 0.02 && abs(one - 1) < 0.02)
  }

  /// The range is so wide that each bucket ends at four times its beginning.
  @Test func `a quantile is as far up its bucket as its share of the values`() {
    let greatest = Double.greatestFiniteMagnitude
    let magnitudes = [greatest, 3, 3, 3, 3, 0x1p-127]
    let positive = buckets(of: magnitudes + [0, 0])
    let negative = buckets(of: magnitudes.map { -$0 } + [0, 0])
    let (quarter, most) = (System.power(4, 0.25), System.power(4, 0.75))
    let up: [Double?] = [0, 0, 0x1p-126, quarter, most, 4, greatest]
    #expect([0, 0.25, 0.375, 0.5, 0.75, 0.875, 1].map { positive.quantile($0) } == up)
    let down: [Double?] = [-greatest, -0x1p1022, -most, -quarter, -1, -0x1p-128, 0, 0]
    #expect([0, 0.125, 0.25, 0.5, 0.625, 0.75, 0.875, 1].map { negative.quantile($0) } == down)
  }
}

/// The buckets' numbers and bounds.
struct NativeScaleTests {
  private let scale = NativeScale()

  @Test(arguments: NativeScale.schemas)
  func `a value lies within its bucket`(schema: Int) {
    var generator = SeededGenerator(seed: schema)
    let values = (0..<Extent.of(200, extensive: 2_000)).map { _ in
      Double(
        sign: .plus, exponent: Int.random(in: -127...1_022, using: &generator),
        significand: Double.random(in: 1..<2, using: &generator))
    }
    let outside = values.filter { value in
      let bucket = scale.bucket(of: value) >> (8 - schema)
      // The bounds are rounded: a value next to one may be on either side of it.
      return NativeScale.upperBound(of: bucket, schema: schema) * (1 + 1e-13) < value
        || NativeScale.upperBound(of: bucket - 1, schema: schema) * (1 - 1e-13) >= value
    }
    #expect(outside == [])
  }

  @Test func `powers of two are upper bounds`() {
    let exponents = [-126, -10, -1, 0, 1, 10, 1_023]
    let values = exponents.map { Double(sign: .plus, exponent: $0, significand: 1) }
    #expect(values.map { scale.bucket(of: $0) } == exponents.map { $0 * 256 - 1 })
    #expect(values.map { scale.bucket(of: $0.nextUp) } == exponents.map { $0 * 256 })
    #expect(exponents.map { NativeScale.upperBound(of: $0 * 256 - 1, schema: 8) } == values)
  }

  @Test func `a bound within an octave belongs to the bucket below it`() {
    let bounds = (1..<256).map { System.powerOfTwo(Double($0) / 256) }
    #expect(bounds.map { scale.bucket(of: $0) } == Array(0..<255))
    #expect(bounds.map { scale.bucket(of: $0.nextUp) } == Array(1..<256))
  }

  @Test func `extremes have a bucket`() {
    #expect(scale.bucket(of: .greatestFiniteMagnitude) == 1_024 * 256 - 1)
    for value in [0, Double.leastNonzeroMagnitude, .infinity, .nan] { _ = scale.bucket(of: value) }
  }
}

extension NativeBuckets {
  var count: UInt64 { (positive.entries + negative.entries).reduce(zeroCount) { $0 + $1.count } }
}
