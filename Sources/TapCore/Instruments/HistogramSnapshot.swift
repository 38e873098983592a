/// The contents of a histogram at one moment.
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
    /// The number of values up to the bound, including those of all lower buckets.
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

/// A value of a bucket, and the trace that it belongs to.
public struct Exemplar: Sendable, Hashable {
  /// The value, in the unit of the metric.
  public let value: Double
  /// When it was recorded.
  public let timestamp: Timestamp
  /// The trace.
  public let trace: TraceContext
}

/// Which requests leave exemplars in their histograms.
public enum ExemplarPolicy: Sendable, Hashable {
  /// Requests with a sampled trace, which a tracing system may have recorded.
  case sampled
  /// Every request with a trace. The request log has the trace at least.
  case all
}

/// The sum of a histogram's cells.
struct HistogramReading: Sendable {
  /// The count of each classic bucket, not cumulative, `+Inf` last.
  private(set) var counts: [UInt64] = []
  /// Finite: at most the greatest number of its sign. Infinite parts of both signs would add up to none.
  private(set) var sum = 0.0
  /// Empty unless it is asked for.
  private(set) var native = NativeBuckets()
  /// The latest of each bucket; empty where there is none or it is not asked for.
  private(set) var exemplars: [Exemplar?] = []

  var count: UInt64 { counts.reduce(0, &+) }

  /// Sets everything to 0 and keeps the capacity.
  mutating func reset(bucketCount: Int) {
    counts.removeAll(keepingCapacity: true)
    counts += repeatElement(0, count: bucketCount)
    sum = 0
    native = NativeBuckets()
    exemplars.removeAll(keepingCapacity: true)
  }

  mutating func add(sum: Double, counts cellCounts: UnsafeMutablePointer<UInt64>) {
    self.sum = Self.finite(self.sum + Self.finite(sum))
    for index in counts.indices { counts[index] &+= cellCounts[index] }
  }

  private static func finite(_ value: Double) -> Double {
    min(max(value, -.greatestFiniteMagnitude), .greatestFiniteMagnitude)
  }

  mutating func add(_ other: NativeBuckets) {
    if native.isEmpty { native = other } else { native.add(other) }
  }

  /// Keeps the later exemplar of each bucket.
  mutating func add(_ others: [Exemplar?]) {
    guard !exemplars.isEmpty else { return exemplars = others }
    for (index, other) in others.enumerated() {
      guard let other else { continue }
      if let known = exemplars[index], known.timestamp >= other.timestamp { continue }
      exemplars[index] = other
    }
  }
}
