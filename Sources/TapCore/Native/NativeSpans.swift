/// Native buckets as Prometheus transmits them: runs of consecutive buckets, and each count as the difference from
/// the one before.
struct NativeSpans: Sendable, Hashable {
  private(set) var spans: [Span] = []
  private(set) var deltas: [Int64] = []

  /// A run of buckets. The first offset is the number of the first bucket, a later one is the gap since the run
  /// before.
  struct Span: Sendable, Hashable {
    let offset: Int
    fileprivate(set) var length: Int
  }

  init(_ counts: NativeCounts) {
    var next = 0
    var previous: UInt64 = 0
    for entry in counts.entries {
      // Prometheus numbers a bucket by its upper bound, base^index.
      let index = entry.bucket + 1
      if spans.isEmpty || index != next {
        spans.append(Span(offset: index - next, length: 1))
      } else {
        spans[spans.count - 1].length += 1
      }
      deltas.append(Int64(bitPattern: entry.count &- previous))
      previous = entry.count
      next = index + 1
    }
  }
}
