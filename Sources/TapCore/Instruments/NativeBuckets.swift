/// The native part of a histogram: exponential buckets, as fine as 160 of them allow.
///
/// The resolution begins at the finest schema. A value that would take one bucket too many halves it: every
/// two neighbours become one.
struct NativeBuckets: Sendable, Hashable {
  /// The most buckets that have a count, on both sides of zero together (the default of OpenTelemetry's
  /// exponential histograms, and what Prometheus advises).
  static let maximumCount = 160

  /// 2^schema buckets to an octave.
  var schema: Int { NativeScale.schemas.upperBound - coarseness }
  private var coarseness = 0
  /// Values whose magnitude is at most ``NativeScale/zeroThreshold``.
  private(set) var zeroCount: UInt64 = 0
  private(set) var positive = NativeCounts()
  private(set) var negative = NativeCounts()

  /// Counts one finite value whose bucket at the finest schema was found before.
  @inline(__always)
  mutating func record(_ value: Double, bucket: Int) {
    if value > NativeScale.zeroThreshold, positive.incrementFast(bucket &>> coarseness) { return }
    recordSlowly(value, bucket: bucket)
  }

  var isEmpty: Bool { zeroCount == 0 && populatedCount == 0 }

  private var populatedCount: Int { positive.populatedCount + negative.populatedCount }

  @inline(never)
  private mutating func recordSlowly(_ value: Double, bucket: Int) {
    if value.magnitude <= NativeScale.zeroThreshold {
      zeroCount &+= 1
      return
    }
    func add() -> Bool {
      let bucket = bucket >> coarseness
      return value < 0 ? negative.add(1, to: bucket) : positive.add(1, to: bucket)
    }
    // The coarsest schema has 72 buckets a side between the zero bucket and the largest value: it always
    // fits.
    while !add(), halve() {}
    while populatedCount > Self.maximumCount, halve() {}
  }

  func quantile(_ quantile: Double) -> Double? {
    guard (0...1).contains(quantile), !isEmpty else { return nil }
    func bound(_ bucket: Int) -> Double { NativeScale.upperBound(of: bucket, schema: schema) }
    // From the least value to the greatest: how many values lie between two bounds of one sign.
    let buckets: [(count: UInt64, from: Double, to: Double)] =
      negative.entries.reversed().map { ($0.count, -bound($0.bucket), -bound($0.bucket - 1)) }
      + (zeroCount > 0 ? [(zeroCount, 0, 0)] : [])
      + positive.entries.map { ($0.count, bound($0.bucket - 1), bound($0.bucket)) }
    var rank = quantile * Double(buckets.reduce(0) { $0 + $1.count })
    for (count, from, to) in buckets {
      if rank <= Double(count) {
        return from == to ? from : from * System.power(to / from, max(0, rank / Double(count)))
      }
      rank -= Double(count)
    }
    return buckets.last?.to
  }

  /// `false`, with nothing done, at the coarsest resolution.
  private mutating func halve() -> Bool {
    guard schema > NativeScale.schemas.lowerBound else { return false }
    coarseness += 1
    positive = positive.halved
    negative = negative.halved
    return true
  }
}

/// Counts of the numbered buckets on one side of zero.
///
/// The counts of a range of buckets stand side by side, so that an increment is one load and one store
/// wherever it falls. They are 16 bits wide, a quarter of the memory of a whole count, and most stay within;
/// the rest of a larger one is a carry.
struct NativeCounts: Sendable, Hashable {
  /// The widest range of buckets: at schema 4, a factor of 10^19 between the least and the greatest value.
  static let maximumRange = 1_024

  private(set) var populatedCount = 0
  private var first = 0
  private var lowCounts: [UInt16] = []
  /// By bucket: multiples of 65,536.
  private var carries: [Int: UInt64] = [:]

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
    let total = count(of: bucket) &+ amount
    if total == amount { populatedCount += 1 }
    lowCounts[bucket - first] = UInt16(truncatingIfNeeded: total)
    if total > UInt64(UInt16.max) { carries[bucket] = total & ~UInt64(UInt16.max) }
    return true
  }

  var entries: [Entry] {
    lowCounts.indices.lazy.map { Entry(bucket: first + $0, count: count(of: first + $0)) }
      .filter { $0.count > 0 }
  }

  var halved: NativeCounts {
    var halved = NativeCounts()
    if lowCounts.isEmpty { return halved }
    // All at once: widening bucket by bucket takes ten times as long.
    halved.first = first >> 1
    halved.lowCounts = Array(repeating: 0, count: lowCounts.count / 2 + 1)
    for entry in entries { _ = halved.add(entry.count, to: entry.bucket >> 1) }
    return halved
  }

  struct Entry: Sendable, Hashable {
    let bucket: Int
    let count: UInt64
  }

  private func count(of bucket: Int) -> UInt64 {
    UInt64(lowCounts[bucket - first]) | (carries.isEmpty ? 0 : carries[bucket, default: 0])
  }

  /// Widens the range to a bucket, eight at a time.
  private mutating func widen(to bucket: Int) -> Bool {
    let aligned = bucket & ~7
    if lowCounts.isEmpty { first = aligned }
    let below = max(0, first - aligned)
    let above = max(0, aligned + 8 - (first + lowCounts.count))
    guard below + above > 0 else { return true }
    guard below + lowCounts.count + above <= Self.maximumRange else { return false }
    // A new array has just the needed capacity; a growing one would double it.
    var wider = [UInt16](repeating: 0, count: below + lowCounts.count + above)
    wider.replaceSubrange(below..<below + lowCounts.count, with: lowCounts)
    (first, lowCounts) = (first - below, wider)
    return true
  }
}

/// The exponential buckets of native histograms: bucket `i` of schema `s` is `(base^(i-1), base^i]`, where
/// `base = 2^(2^-s)`.
///
/// Here buckets are numbered from 0, `j = i - 1`, so that halving the resolution is `j >> 1`, for negative
/// numbers too.
struct NativeScale: Sendable {
  /// The finest and the coarsest resolution that Prometheus knows (Native Histograms specification,
  /// "Schema").
  static let schemas = -4...8
  /// A magnitude up to this counts as zero. It is never 0, or an empty native histogram would look like a
  /// classic one to Prometheus.
  static let zeroThreshold = 0x1p-128

  /// The number of the bucket that a magnitude above ``zeroThreshold`` falls in, at the finest schema.
  ///
  /// The exponent of the value counts octaves; the place within the octave is looked up by the first nine
  /// bits of the significand, which leaves at most one bound to compare with.
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
