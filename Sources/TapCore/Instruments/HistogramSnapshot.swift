/// What a histogram had recorded at one moment.
public struct HistogramSnapshot: Sendable, Hashable {
  /// The classic buckets, by upper bound; the last is `+Inf`.
  public let buckets: [Bucket]
  /// The number of values.
  public let count: UInt64
  /// The sum of the values, at most the greatest finite number of its sign.
  public let sum: Double
  /// The same values in exponential buckets.
  public let native: NativeHistogram

  /// A classic bucket.
  public struct Bucket: Sendable, Hashable {
    /// The upper bound, inclusive.
    public let upperBound: Double
    /// The number of values up to the bound, those of all lower buckets included.
    public let cumulativeCount: UInt64
    /// The latest value of this bucket that had a trace.
    public let exemplar: Exemplar?
  }

  init(_ reading: HistogramReading, upperBounds: [Double]) {
    var total: UInt64 = 0
    buckets = zip(upperBounds + [.infinity], reading.counts).enumerated().map { index, bucket in
      total &+= bucket.1
      return Bucket(
        upperBound: bucket.0, cumulativeCount: total,
        exemplar: reading.exemplars.isEmpty ? nil : reading.exemplars[index])
    }
    count = total
    sum = reading.sum
    native = NativeHistogram(reading.native)
  }
}
