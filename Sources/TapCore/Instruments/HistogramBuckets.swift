/// The upper bounds of a histogram's classic buckets, without the last one, `+Inf`.
///
///     let durations = try registry.histogram("job_duration_seconds", help: "…", buckets: [0.1, 1, 10])
///
/// ``Registry`` checks them: at least one, at most 256, finite and ascending.
public struct HistogramBuckets: Sendable, Equatable, ExpressibleByArrayLiteral {
  /// The upper bounds, inclusive.
  public let upperBounds: [Double]

  package static let maximumCount = 256

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
