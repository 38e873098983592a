#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The native part of a ``HistogramSnapshot``: exponential buckets that no one has to choose.
public struct NativeHistogram: Sendable, Hashable {
  /// The resolution, -4 to 8: each bucket's upper bound is 2^(2^-schema) times that of the one before.
  public let schema: Int
  /// Values of this magnitude or less count as zero.
  public let zeroThreshold = NativeScale.zeroThreshold
  /// The number of values that count as zero.
  public let zeroCount: UInt64
  /// The buckets of positive values that have any, by upper bound.
  public let positive: [Bucket]
  /// The buckets of negative values that have any, by magnitude: the bounds are those of the magnitude.
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
  /// Within a bucket values are taken to be spread evenly on a logarithmic scale, as Prometheus 3 does: the result is
  /// off by at most one bucket's width.
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
    from * pow(to / from, max(0, share))
  }
}
