/// The native part of a ``HistogramSnapshot``: exponential buckets that need no configuration.
public struct NativeHistogram: Sendable, Hashable {
  /// The resolution, -4 to 8: each bucket's upper bound is 2^(2^-schema) times that of the one before.
  public let schema: Int
  /// Values of this magnitude or less count as zero.
  public let zeroThreshold = NativeScale.zeroThreshold
  /// The number of values that count as zero.
  public let zeroCount: UInt64
  /// The buckets of positive values that are not empty, by upper bound.
  public let positive: [Bucket]
  /// The buckets of negative values that are not empty, by magnitude. Their bounds are those of the
  /// magnitude.
  public let negative: [Bucket]

  /// A bucket of an exponential histogram.
  public struct Bucket: Sendable, Hashable {
    /// The number that Prometheus gives the bucket: its upper bound is base^index.
    public let index: Int
    /// The lower bound, exclusive.
    public let lowerBound: Double
    /// The upper bound, inclusive.
    public let upperBound: Double
    /// The number of values in this bucket alone.
    public let count: UInt64
  }

  init(_ buckets: NativeBuckets) {
    schema = buckets.schema
    zeroCount = buckets.zeroCount
    func list(_ entries: [NativeCounts.Entry]) -> [Bucket] {
      entries.map { entry in
        Bucket(
          index: entry.bucket + 1,
          lowerBound: NativeScale.upperBound(of: entry.bucket - 1, schema: buckets.schema),
          upperBound: NativeScale.upperBound(of: entry.bucket, schema: buckets.schema), count: entry.count)
      }
    }
    positive = list(buckets.positive.entries)
    negative = list(buckets.negative.entries)
  }

  /// The value below which the share `quantile` of all values lies; `nil` if there is none, or `quantile` is not
  /// within 0 and 1.
  ///
  /// Assumes that values are spread evenly on a logarithmic scale within a bucket, as Prometheus 3 does. The
  /// error is at most one bucket's width.
  public func quantile(_ quantile: Double) -> Double? {
    guard (0...1).contains(quantile) else { return nil }
    let total = (positive + negative).reduce(zeroCount) { $0 + $1.count }
    guard total > 0 else { return nil }
    var rank = quantile * Double(total)
    for bucket in negative.reversed() {
      if rank <= Double(bucket.count) {
        return -interpolate(from: bucket.upperBound, to: bucket.lowerBound, rank / Double(bucket.count))
      }
      rank -= Double(bucket.count)
    }
    if rank <= Double(zeroCount), zeroCount > 0 { return 0 }
    rank -= Double(zeroCount)
    for bucket in positive {
      if rank <= Double(bucket.count) {
        return interpolate(from: bucket.lowerBound, to: bucket.upperBound, rank / Double(bucket.count))
      }
      rank -= Double(bucket.count)
    }
    return positive.last?.upperBound
  }

  private func interpolate(from: Double, to: Double, _ share: Double) -> Double {
    from * System.power(to / from, max(0, share))
  }
}

/// The exponential buckets of native histograms: bucket `i` of schema `s` is `(base^(i-1), base^i]`, where
/// `base = 2^(2^-s)`.
///
/// Here buckets are numbered from 0, `j = i - 1`, so that halving the resolution is `j >> 1`, for negative numbers
/// too.
struct NativeScale: Sendable {
  /// The finest and the coarsest resolution that Prometheus knows (Native Histograms specification, "Schema").
  static let schemas = -4...8
  /// A magnitude up to this counts as zero. It is never 0, or an empty native histogram would look like a classic
  /// one to Prometheus.
  static let zeroThreshold = 0x1p-128

  /// The number of the bucket that a magnitude above ``zeroThreshold`` falls in, at the finest schema.
  ///
  /// The exponent of the value counts octaves; the place within the octave is looked up by the first nine bits of
  /// the significand, which leaves at most one bound to compare with.
  @inline(__always)
  func bucket(of magnitude: Double) -> Int {
    // Buckets include their upper bound: the neighbour below belongs to the same bucket as a bound itself.
    let bits = magnitude.bitPattern &- 1
    let significand = bits & 0x000f_ffff_ffff_ffff
    let slice = slices[Int(truncatingIfNeeded: significand >> 43)]
    let octave = Int(truncatingIfNeeded: bits >> 52) &- 1023
    return octave &* 256 &+ slice.first &+ (significand >= slice.nextBound ? 1 : 0)
  }

  /// The upper bound of bucket `j` of a schema: finite, as every value in it is.
  static func upperBound(of bucket: Int, schema: Int) -> Double {
    let exponent = Double(bucket + 1)
    let bound = System.powerOfTwo(
      schema >= 0 ? exponent / Double(1 << schema) : exponent * Double(1 << -schema))
    return min(bound, .greatestFiniteMagnitude)
  }

  /// For each 512th of an octave: the bucket in which it begins, and the bound, as a significand, after it.
  private static let slices: [Slice] = {
    // 2^(k/256) as a significand, and an end that no significand reaches.
    let bounds = (0..<256).map { System.powerOfTwo(Double($0) / 256).significandBitPattern } + [.max]
    return (0..<512).map { slice in
      let first = bounds.lastIndex { $0 <= UInt64(slice) << 43 } ?? 0
      return Slice(nextBound: bounds[first + 1], first: first)
    }
  }()

  /// The table, without the initialization check of every access to a global.
  private let slices = Self.slices

  private struct Slice: Sendable {
    let nextBound: UInt64
    let first: Int
  }
}
