#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The exponential buckets of native histograms: bucket `i` of schema `s` is `(base^(i-1), base^i]`, where
/// `base = 2^(2^-s)`.
///
/// Here buckets are numbered from 0, `j = i - 1`, so that halving the resolution is `j >> 1`, for negative numbers
/// too.
struct NativeScale: Sendable {
  /// The finest and the coarsest resolution that Prometheus knows (Native Histograms specification, "Schema").
  static let schemas = -4...8
  /// What is nearer to zero counts as zero. It is never 0, or an empty native histogram would look like a classic
  /// one to Prometheus.
  static let zeroThreshold = 0x1p-128

  /// The number of the bucket that a magnitude above ``zeroThreshold`` falls in, at the finest schema.
  ///
  /// The exponent of the value counts octaves; the place within the octave is looked up by the first nine bits of
  /// the significand, which leaves at most one bound to compare with.
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
    let bound = exp2(schema >= 0 ? exponent / Double(1 << schema) : exponent * Double(1 << -schema))
    return min(bound, .greatestFiniteMagnitude)
  }

  /// For each 512th of an octave: the bucket in which it begins, and the bound, as a significand, after it.
  private static let slices: [Slice] = {
    // 2^(k/256) as a significand, and an end that no significand reaches.
    let bounds = (0..<256).map { exp2(Double($0) / 256).significandBitPattern } + [.max]
    return (0..<512).map { slice in
      let first = bounds.lastIndex { $0 <= UInt64(slice) << 43 } ?? 0
      return Slice(nextBound: bounds[first + 1], first: first)
    }
  }()

  /// The table, at hand without the check that every use of a global pays.
  private let slices = Self.slices

  private struct Slice: Sendable {
    let nextBound: UInt64
    let first: Int
  }
}
