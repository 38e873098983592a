/// The upper bounds of a histogram's classic buckets, without the last one, `+Inf`.
///
///     let durations = try registry.histogram("job_duration_seconds", help: "…", buckets: [0.1, 1, 10])
///
/// ``Registry`` checks them: at least one, at most 256, finite and ascending.
public struct HistogramBuckets: Sendable, ExpressibleByArrayLiteral {
  /// Inclusive.
  package let upperBounds: [Double]

  private static let maximumCount = 256

  /// Seconds, from 5 ms to 10 s: the bounds of the OpenTelemetry HTTP conventions for durations.
  public static let seconds: HistogramBuckets = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
  ]

  /// Bytes: powers of 4, from 64 B to 256 MiB.
  public static let bytes = HistogramBuckets.exponential(from: 64, factor: 4, count: 12)

  /// Takes the bounds as they are. A last bound of `+Inf` is implied and may be given.
  public init(_ upperBounds: [Double]) {
    self.upperBounds = upperBounds.last == .infinity ? upperBounds.dropLast() : upperBounds
  }

  /// Makes buckets from a literal such as `[0.1, 1, 10]`.
  public init(arrayLiteral elements: Double...) {
    self.init(elements)
  }

  /// `count` bounds, each `factor` times the one before it.
  public static func exponential(from first: Double, factor: Double, count: Int) -> HistogramBuckets {
    var bounds: [Double] = []
    var bound = first
    // One more than is allowed is enough for the registry to throw: the caller's count has no limit.
    for _ in 0..<max(0, min(count, maximumCount + 1)) {
      bounds.append(bound)
      bound *= factor
    }
    return HistogramBuckets(bounds)
  }

  var isValid: Bool {
    (1...Self.maximumCount).contains(upperBounds.count) && upperBounds.allSatisfy(\.isFinite)
      && zip(upperBounds, upperBounds.dropFirst()).allSatisfy { $0 < $1 }
  }
}

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

  /// The buckets of a finite value.
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
