/// The part that the histograms of one family share: the bounds, finite and ascending, and the bounds as
/// text.
final class BucketLayout: Sendable {
  let upperBounds: [Double]
  /// For each bucket, `+Inf` last: `0.005"} `, the end of a sample's name as the text formats write it.
  /// One behind another, since an array for each would be retained for each line.
  let sampleEnds: [UInt8]
  /// Where each begins, and where the last one ends.
  let sampleEndBounds: [Int]
  /// The bounds in blocks of eight; the last is padded with infinity, which no value is above.
  private let blocks: [SIMD8<Double>]
  private let nativeScale = NativeScale()

  init(_ buckets: HistogramBuckets) {
    upperBounds = buckets.upperBounds
    let padding = repeatElement(Double.infinity, count: 7)
    let padded = buckets.upperBounds + padding
    blocks = stride(from: 0, to: buckets.upperBounds.count, by: 8).map { SIMD8(padded[$0..<($0 + 8)]) }
    let ends = (buckets.upperBounds + [.infinity]).map { Array("\(FloatText.bound($0))\"} ".utf8) }
    sampleEnds = Array(ends.joined())
    sampleEndBounds = ends.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.count) }
  }

  var bucketCount: Int { upperBounds.count + 1 }

  /// The buckets of a finite value, found before any lock is taken.
  struct Bucket {
    let classic: Int
    /// At the finest schema.
    let native: Int
  }

  @inline(__always)
  func bucket(of value: Double) -> Bucket {
    Bucket(classic: classicBucket(of: value), native: nativeScale.bucket(of: value.magnitude))
  }

  /// The first classic bucket whose upper bound is not below `value`.
  ///
  /// Binary search down to 16 bounds, which are then compared at once: for the usual 14 bounds, mispredicted
  /// branches of a binary search cost 17 ns, the comparisons 2.
  @inline(__always)
  private func classicBucket(of value: Double) -> Int {
    blocks.withUnsafeBufferPointer { blocks in
      var low = 0
      var high = blocks.count
      while high &- low > 2 {
        let middle = (low &+ high) >> 1
        if blocks[middle][0] < value { low = middle } else { high = middle }
      }
      var below = SIMD8<Int64>(repeating: 0)
      let values = SIMD8(repeating: value)
      for block in blocks[low..<high] { below.replace(with: below &+ 1, where: block .< values) }
      return low &* 8 &+ Int(below.wrappedSum())
    }
  }
}
