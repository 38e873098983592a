/// The native part of a histogram: exponential buckets, as fine as 160 of them allow.
///
/// The resolution begins at the finest schema. A value that would take one bucket too many halves it: every two
/// neighbours become one.
struct NativeBuckets: Sendable, Hashable {
  /// The most buckets that have a count, on both sides of zero together (the default of OpenTelemetry's exponential
  /// histograms, and what Prometheus advises).
  static let maximumCount = 160

  /// 2^schema buckets to an octave.
  var schema: Int { NativeScale.schemas.upperBound - coarseness }
  /// The number of times the resolution was halved.
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

  /// Adds the counts of another histogram, at the coarser of the two resolutions.
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

/// Counts of the numbered buckets on one side of zero.
///
/// The counts of a range of buckets stand side by side, so that an increment is one load and one store wherever it
/// falls. They are 16 bits wide, which most stay within; the rest of a larger count is carried to a second array.
///
/// The range is at most ``maximumRange`` buckets wide.
struct NativeCounts: Sendable, Hashable {
  /// The widest range: at schema 4, a factor of 10^19 between the least and the greatest value.
  static let maximumRange = 1_024

  private(set) var populatedCount = 0
  private var first = 0
  private var lowCounts: [UInt16] = []
  /// Multiples of 65,536; empty until a count needs it.
  private var carries: [UInt64] = []

  /// Adds 1 to a bucket that has a count, unless that takes more than an addition.
  @inline(__always)
  mutating func incrementFast(_ bucket: Int) -> Bool {
    let slot = bucket &- first
    guard UInt(bitPattern: slot) < UInt(bitPattern: lowCounts.count) else { return false }
    let count = lowCounts[slot] &+ 1
    // Either the bucket may be new, or the count has to be carried.
    guard count > 1 else { return false }
    lowCounts[slot] = count
    return true
  }

  /// Adds to a bucket. `false`, with nothing done, if the range would grow too wide.
  mutating func add(_ amount: UInt64, to bucket: Int) -> Bool {
    guard amount > 0 else { return true }
    guard widen(to: bucket) else { return false }
    let slot = bucket - first
    let total = count(in: slot) &+ amount
    if total == amount { populatedCount += 1 }
    lowCounts[slot] = UInt16(truncatingIfNeeded: total)
    if total > UInt64(UInt16.max) {
      if carries.isEmpty { carries = Array(repeating: 0, count: lowCounts.count) }
      carries[slot] = total & ~UInt64(UInt16.max)
    }
    return true
  }

  var entries: [Entry] {
    var entries: [Entry] = []
    entries.reserveCapacity(populatedCount)
    for slot in lowCounts.indices {
      let count = count(in: slot)
      if count > 0 { entries.append(Entry(bucket: first + slot, count: count)) }
    }
    return entries
  }

  var halved: NativeCounts {
    var halved = NativeCounts()
    // A range that fits does so at half its width.
    for entry in entries { _ = halved.add(entry.count, to: entry.bucket >> 1) }
    return halved
  }

  struct Entry: Sendable, Hashable {
    let bucket: Int
    let count: UInt64
  }

  private func count(in slot: Int) -> UInt64 {
    UInt64(lowCounts[slot]) | (carries.isEmpty ? 0 : carries[slot])
  }

  /// Widens the range to a bucket, eight at a time.
  private mutating func widen(to bucket: Int) -> Bool {
    let aligned = bucket & ~7
    if lowCounts.isEmpty { first = aligned }
    let below = max(0, first - aligned)
    let above = max(0, aligned + 8 - (first + lowCounts.count))
    guard below + above > 0 else { return true }
    guard below + lowCounts.count + above <= Self.maximumRange else { return false }
    // A new array has just the capacity that is needed, where a growing one would double it.
    lowCounts = repeatElement(0, count: below) + lowCounts + repeatElement(0, count: above)
    if !carries.isEmpty {
      carries = repeatElement(0, count: below) + carries + repeatElement(0, count: above)
    }
    first -= below
    return true
  }
}
