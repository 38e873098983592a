/// A point on the monotonic clock.
struct Instant: Hashable, Comparable {
  let nanoseconds: Int64

  /// Later than any time.
  static let never = Instant(nanoseconds: .max)

  static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.nanoseconds < rhs.nanoseconds }

  /// So much later; at most ``never``, at least the same.
  func advanced(by duration: Duration) -> Instant {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(max(0, duration.nanoseconds))
    return overflow ? .never : Instant(nanoseconds: sum)
  }
}

extension Duration {
  /// Whole nanoseconds, as near as 64 bits allow.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflow2) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflow || overflow2 ? (seconds < 0 ? .min : .max) : sum
  }
}
