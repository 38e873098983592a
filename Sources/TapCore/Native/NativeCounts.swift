/// Counts of the numbered buckets on one side of zero.
///
/// The counts of a range of buckets stand side by side, so that an increment is one load and one store wherever it
/// falls. They are 16 bits wide, which most stay within; what goes beyond is carried to a second array.
///
/// A pure value. The range is at most ``maximumRange`` buckets wide.
struct NativeCounts: Sendable, Hashable {
  /// The widest range: at schema 4, a factor of 10^19 between the least and the greatest value.
  static let maximumRange = 1_024

  /// How many buckets have a count.
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
    guard makeRoom(for: bucket) else { return false }
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

  /// The buckets that have a count, by number.
  var entries: [Entry] {
    var entries: [Entry] = []
    entries.reserveCapacity(populatedCount)
    for slot in lowCounts.indices {
      let count = count(in: slot)
      if count > 0 { entries.append(Entry(bucket: first + slot, count: count)) }
    }
    return entries
  }

  /// The same counts at half the resolution.
  var halved: NativeCounts {
    var halved = NativeCounts()
    // A range that fits does so at half its width.
    for entry in entries { _ = halved.add(entry.count, to: entry.bucket >> 1) }
    return halved
  }

  /// A bucket's number and count.
  struct Entry: Sendable, Hashable {
    let bucket: Int
    let count: UInt64
  }

  private func count(in slot: Int) -> UInt64 {
    UInt64(lowCounts[slot]) | (carries.isEmpty ? 0 : carries[slot])
  }

  /// Widens the range to a bucket, eight at a time.
  private mutating func makeRoom(for bucket: Int) -> Bool {
    let aligned = bucket & ~7
    if lowCounts.isEmpty { first = aligned }
    let below = max(0, first - aligned)
    let above = max(0, aligned + 8 - (first + lowCounts.count))
    guard below + above > 0 else { return true }
    guard below + lowCounts.count + above <= Self.maximumRange else { return false }
    // A new array has just the room that is needed, where a growing one would double it.
    lowCounts = repeatElement(0, count: below) + lowCounts + repeatElement(0, count: above)
    if !carries.isEmpty {
      carries = repeatElement(0, count: below) + carries + repeatElement(0, count: above)
    }
    first -= below
    return true
  }
}
