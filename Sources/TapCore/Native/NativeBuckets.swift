/// The native part of a histogram: exponential buckets, as fine as 160 of them allow.
///
/// It begins at the finest schema; where a value would make one bucket too many, the resolution is halved, and
/// every two neighbours become one. A pure value.
struct NativeBuckets: Sendable, Hashable {
  /// The most buckets that have a count, on both sides of zero together (the default of OpenTelemetry's exponential
  /// histograms, and what Prometheus advises).
  static let maximumCount = 160

  /// 2^schema buckets to an octave.
  var schema: Int { NativeScale.schemas.upperBound - coarseness }
  /// How often the resolution was halved.
  private var coarseness = 0
  /// Values whose magnitude is at most ``NativeScale/zeroThreshold``.
  private(set) var zeroCount: UInt64 = 0
  private(set) var positive = NativeCounts()
  private(set) var negative = NativeCounts()

  /// Counts one finite value whose bucket at the finest schema was found before.
  @inline(__always)
  mutating func record(_ value: Double, bucket: Int) {
    if value > NativeScale.zeroThreshold,
      positive.incrementFast(bucket &>> coarseness)
    {
      return
    }
    recordSlowly(value, bucket: bucket)
  }

  /// Adds what another has counted, at the coarser of the two resolutions.
  mutating func add(_ other: NativeBuckets) {
    while schema > other.schema { halve() }
    zeroCount &+= other.zeroCount
    for entry in other.positive.entries {
      add(entry.count, to: entry.bucket, of: other.schema, \.positive)
    }
    for entry in other.negative.entries {
      add(entry.count, to: entry.bucket, of: other.schema, \.negative)
    }
  }

  /// Nothing has been counted.
  var isEmpty: Bool {
    zeroCount == 0 && positive.populatedCount == 0 && negative.populatedCount == 0
  }

  @inline(never)
  private mutating func recordSlowly(_ value: Double, bucket: Int) {
    if value.magnitude <= NativeScale.zeroThreshold {
      zeroCount &+= 1
    } else {
      add(1, to: bucket, of: NativeScale.schemas.upperBound, value > 0 ? \.positive : \.negative)
    }
  }

  /// Adds to a bucket of a schema that is at least as fine as the own.
  private mutating func add(
    _ amount: UInt64, to bucket: Int, of fine: Int, _ side: WritableKeyPath<NativeBuckets, NativeCounts>
  ) {
    // The coarsest schema has 72 buckets a side between the zero bucket and the largest value: it always fits.
    while !self[keyPath: side].add(amount, to: bucket >> (fine - schema)),
      schema > NativeScale.schemas.lowerBound
    {
      halve()
    }
    while positive.populatedCount + negative.populatedCount > Self.maximumCount,
      schema > NativeScale.schemas.lowerBound
    {
      halve()
    }
  }

  private mutating func halve() {
    coarseness += 1
    positive = positive.halved
    negative = negative.halved
  }
}
