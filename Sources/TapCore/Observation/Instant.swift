#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A point on the monotonic clock: a plain number, where the layout of `ContinuousClock.Instant` is unknown to the
/// compiler, which copies it by way of a function.
package struct Instant: Sendable, Hashable, Comparable {
  package let nanoseconds: Int64

  package init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The monotonic clock, read now (POSIX, `CLOCK_MONOTONIC`).
  package static var now: Instant {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }

  /// Later than any time.
  package static let never = Instant(nanoseconds: .max)

  /// The next moment at which the clock stands at a multiple of the duration, after now.
  package func next(multipleOf duration: Duration) -> Instant {
    let step = max(1, duration.nanoseconds)
    return advanced(by: .nanoseconds(step - nanoseconds % step))
  }

  package static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.nanoseconds < rhs.nanoseconds }

  /// So much later; at most ``never``, at least the same.
  package func advanced(by duration: Duration) -> Instant {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(max(0, duration.nanoseconds))
    return overflow ? .never : Instant(nanoseconds: sum)
  }
}
