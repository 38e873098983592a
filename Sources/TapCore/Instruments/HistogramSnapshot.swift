/// What a histogram had recorded at one moment.
public struct HistogramSnapshot: Sendable, Hashable {
  /// The buckets, by upper bound; the last is `+Inf`.
  public let buckets: [Bucket]
  /// The number of values.
  public let count: UInt64
  /// The sum of the values.
  public let sum: Double

  /// A classic bucket.
  public struct Bucket: Sendable, Hashable {
    /// The upper bound, inclusive.
    public let upperBound: Double
    /// The number of values up to the bound, those of all lower buckets included.
    public let cumulativeCount: UInt64
  }

  init(upperBounds: [Double], counts: [UInt64], sum: Double) {
    var total: UInt64 = 0
    buckets = zip(upperBounds + [.infinity], counts).map { bound, count in
      total &+= count
      return Bucket(upperBound: bound, cumulativeCount: total)
    }
    count = total
    self.sum = sum
  }
}
