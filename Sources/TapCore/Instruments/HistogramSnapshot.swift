/// The contents of a histogram at one moment: the sum of its cells.
package struct HistogramSnapshot: Sendable, Hashable {
  /// The sum of the values, at most the greatest finite number of its sign.
  package private(set) var sum = 0.0
  /// The number of values.
  package var count: UInt64 { counts.reduce(0, &+) }
  /// The count of each classic bucket, not cumulative, `+Inf` last.
  private(set) var counts: [UInt64] = []
  /// The same values in exponential buckets. Empty unless it is asked for.
  private(set) var native = NativeBuckets()
  /// The latest of each bucket; empty where there is none or it is not asked for.
  private(set) var exemplars: [Exemplar?] = []

  /// Makes it one of no value. The memory stays for what is read next.
  mutating func clear(bucketCount: Int) {
    (sum, native, exemplars) = (0, NativeBuckets(), [])
    if counts.count != bucketCount { counts = Array(repeating: 0, count: bucketCount) }
    for index in counts.indices { counts[index] = 0 }
  }

  mutating func add(sum: Double, counts cellCounts: UnsafeMutablePointer<UInt64>) {
    // Infinite parts of both signs would add up to none.
    self.sum = Self.finite(self.sum + Self.finite(sum))
    for index in counts.indices { counts[index] &+= cellCounts[index] }
  }

  private static func finite(_ value: Double) -> Double {
    min(max(value, -.greatestFiniteMagnitude), .greatestFiniteMagnitude)
  }

  mutating func add(_ other: NativeBuckets) {
    if native.isEmpty { native = other } else { native.add(other) }
  }

  mutating func add(_ others: [Exemplar?]) {
    guard !exemplars.isEmpty else { return exemplars = others }
    for (index, other) in others.enumerated() {
      guard let other else { continue }
      if let known = exemplars[index], known.timestamp >= other.timestamp { continue }
      exemplars[index] = other
    }
  }
}

/// The value of one request, and the trace that it belongs to.
struct Exemplar: Sendable, Hashable {
  let value: Double
  let timestamp: Timestamp
  let trace: TraceContext
}
