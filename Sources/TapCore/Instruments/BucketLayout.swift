/// What the histograms of one family share: the bounds, and the bounds as text.
///
/// The bounds must be finite and ascending.
final class BucketLayout: Sendable {
  let upperBounds: [Double]
  /// For each bucket, `+Inf` last: `0.005"} `, the end of a sample's name as the text formats write it.
  let sampleEnds: [[UInt8]]
  /// The bytes of all `sampleEnds`.
  let sampleEndsLength: Int
  /// The bounds in blocks of eight; the last is filled up with infinity, which no value is above.
  private let blocks: [SIMD8<Double>]
  private let nativeScale = NativeScale()

  init(_ buckets: HistogramBuckets) {
    upperBounds = buckets.upperBounds
    let padding = repeatElement(Double.infinity, count: 7)
    let padded = buckets.upperBounds + padding
    blocks = stride(from: 0, to: buckets.upperBounds.count, by: 8).map { SIMD8(padded[$0..<($0 + 8)]) }
    sampleEnds = (buckets.upperBounds + [.infinity]).map { Array((FloatText.bound($0) + "\"} ").utf8) }
    sampleEndsLength = sampleEnds.reduce(0) { $0 + $1.count }
  }

  /// The bounds and `+Inf`.
  var bucketCount: Int { upperBounds.count + 1 }

  /// The first classic bucket whose upper bound is not below `value`, found before any lock is taken.
  ///
  /// Binary search down to 16 bounds, which are then all compared at once: which way a value goes is not to be
  /// foreseen, and for the usual 14 bounds the wrongly guessed branches of a binary search cost 17 ns where the
  /// comparisons cost 2.
  @inline(__always)
  func bucket(for value: Double) -> Int {
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

  /// The native bucket of a value, at the finest schema.
  @inline(__always)
  func nativeBucket(for value: Double) -> Int {
    nativeScale.bucket(of: value.magnitude)
  }
}
