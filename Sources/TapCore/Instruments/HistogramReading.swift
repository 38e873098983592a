/// All that a histogram had recorded, added up over its cells.
struct HistogramReading: Sendable {
  /// The count of each classic bucket, not cumulative, `+Inf` last.
  private(set) var counts: [UInt64] = []
  /// Finite: at most the greatest number of its sign. Infinite parts of both signs would add up to none.
  private(set) var sum = 0.0
  /// Only filled where it is asked for.
  private(set) var native = NativeBuckets()
  /// The latest of each bucket; empty where there is none or it is not asked for.
  private(set) var exemplars: [Exemplar?] = []

  /// The number of values.
  var count: UInt64 { counts.reduce(0, &+) }

  /// Begins anew, with the room there is.
  mutating func reset(bucketCount: Int) {
    counts.removeAll(keepingCapacity: true)
    counts += repeatElement(0, count: bucketCount)
    sum = 0
    native = NativeBuckets()
    exemplars.removeAll(keepingCapacity: true)
  }

  /// Adds the classic part of a cell.
  mutating func add(sum: Double, counts cellCounts: UnsafeMutablePointer<UInt64>) {
    self.sum = Self.finite(self.sum + Self.finite(sum))
    for index in counts.indices { counts[index] &+= cellCounts[index] }
  }

  private static func finite(_ value: Double) -> Double {
    min(max(value, -.greatestFiniteMagnitude), .greatestFiniteMagnitude)
  }

  /// Adds the native part of a cell.
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
