/// A point on the monotonic clock.
///
/// A plain number: the compiler does not know the layout of `ContinuousClock.Instant`, and copies one by a
/// function call.
package struct Instant: Sendable, Hashable, Comparable {
  package let nanoseconds: Int64

  package init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  package static var now: Instant {
    Instant(nanoseconds: System.monotonicNanoseconds)
  }

  package static let never = Instant(nanoseconds: .max)

  package func duration(to other: Instant) -> Duration { .nanoseconds(other.nanoseconds &- nanoseconds) }

  /// The first later instant that is a multiple of so many nanoseconds.
  package func next(multipleOf step: Int64) -> Instant {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(step - nanoseconds % step)
    return overflow ? .never : Instant(nanoseconds: sum)
  }

  package static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.nanoseconds < rhs.nanoseconds }

  /// The instant after a duration: at most ``never``, and never an earlier one.
  package func advanced(by duration: Duration) -> Instant {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(max(0, duration.nanoseconds))
    return overflow ? .never : Instant(nanoseconds: sum)
  }
}

extension Duration {
  /// The attoseconds of up to 18 seconds, which need no division of 128 bits.
  private var few: UInt64? { UInt64(exactly: attoseconds) }

  /// The duration in seconds, rounded to the nearest `Double`.
  package var seconds: Double {
    if let few { return Double(few) / 1e18 }
    // `components` traps if the seconds need more than 64 bits, as those of a sum may.
    let (seconds, attoseconds) = min(max(self, .seconds(Int64.min)), .seconds(Int64.max)).components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }

  /// Whole nanoseconds, as near as 64 bits allow: up to 292 years.
  package var nanoseconds: Int64 {
    few.map { Int64($0 / 1_000_000_000) } ?? Int64(clamping: attoseconds / 1_000_000_000)
  }
}
