/// A histogram as a plain value: its classic and native buckets, the sum of its values, and exemplars.
package struct ValueHistogram: Sendable {
  let layout: BucketLayout
  /// The count of each classic bucket, not cumulative, `+Inf` last.
  var counts: [UInt64]
  private(set) var native = NativeBuckets()
  /// The latest of each classic bucket; empty until there is one.
  private(set) var exemplars: [Exemplar?] = []
  private var total = 0.0

  init(_ layout: BucketLayout) {
    self.layout = layout
    counts = Array(repeating: 0, count: layout.bucketCount)
  }

  /// The sum of the values, at most the greatest finite number of its sign.
  package var sum: Double { min(max(total, -.greatestFiniteMagnitude), .greatestFiniteMagnitude) }

  package var count: UInt64 { counts.reduce(0, &+) }

  @inline(__always)
  mutating func record(_ value: Double) { record(value, in: layout.bucket(of: value)) }

  /// Counts a finite value, whose buckets an instrument finds before it takes its lock.
  @inline(__always)
  mutating func record(_ value: Double, in bucket: BucketLayout.Bucket) {
    counts[bucket.classic] &+= 1
    total += value
    native.record(value, bucket: bucket.native)
  }

  /// Keeps the exemplar of a value that has been recorded, unless its bucket has a newer one.
  mutating func keep(_ exemplar: Exemplar) {
    let bucket = layout.bucket(of: exemplar.value).classic
    if exemplars.isEmpty { exemplars = Array(repeating: nil, count: counts.count) }
    if let known = exemplars[bucket], known.timestamp > exemplar.timestamp { return }
    exemplars[bucket] = exemplar
  }
}

/// The value of one request, and the trace that it belongs to.
struct Exemplar: Sendable, Equatable {
  let value: Double
  let timestamp: Timestamp
  let trace: TraceContext

  init(value: Double, timestamp: Timestamp, trace: TraceContext) {
    (self.value, self.timestamp, self.trace) = (value, timestamp, trace.withoutSpan)
  }
}

/// Which requests add an exemplar to their histograms: a value with the ids of its trace.
public enum ExemplarPolicy: Sendable, Hashable {
  /// No request.
  case none
  /// Requests with a sampled trace, which a tracing system may have recorded.
  case sampled
  /// Every request with a trace. One that is not sampled is in no tracing system; its ids lead to the
  /// request's line in the log.
  case all
}
