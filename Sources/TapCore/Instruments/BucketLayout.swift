/// What the histograms of one family share: the bounds, and the bounds as text.
///
/// The bounds must be finite and ascending.
final class BucketLayout: Sendable {
  let upperBounds: [Double]
  /// For each bucket, `+Inf` last: `0.005"} `, the end of a sample's name as the text formats write it.
  let sampleEnds: [[UInt8]]
  /// The bytes of all `sampleEnds`.
  let sampleEndsLength: Int

  init(_ buckets: HistogramBuckets) {
    upperBounds = buckets.upperBounds
    sampleEnds = (buckets.upperBounds + [.infinity]).map { Array((FloatText.bound($0) + "\"} ").utf8) }
    sampleEndsLength = sampleEnds.reduce(0) { $0 + $1.count }
  }

  /// The bounds and `+Inf`.
  var bucketCount: Int { upperBounds.count + 1 }

  /// The first bucket whose upper bound is not below `value`: binary search, before any lock is taken.
  @inline(__always)
  func bucket(for value: Double) -> Int {
    var low = 0
    var count = upperBounds.count
    while count > 0 {
      let half = count / 2
      if upperBounds[low + half] < value {
        low += half + 1
        count -= half + 1
      } else {
        count = half
      }
    }
    return low
  }
}
