import Synchronization

/// A point in wall-clock time.
public struct Timestamp: Sendable, Hashable, Comparable {
  /// Nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted (POSIX time). Reaches the year 2262.
  public var nanosecondsSinceEpoch: Int64

  /// Makes a timestamp from POSIX time in nanoseconds.
  public init(nanosecondsSinceEpoch: Int64) {
    self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
  }

  /// The system's real-time clock, read now.
  public static var now: Timestamp { Timestamp(nanosecondsSinceEpoch: System.realTimeNanoseconds) }

  /// Orders by time.
  public static func < (lhs: Timestamp, rhs: Timestamp) -> Bool {
    lhs.nanosecondsSinceEpoch < rhs.nanosecondsSinceEpoch
  }

  /// The second in UTC by RFC 3339: `2026-11-21T09:30:00Z`.
  package var utc: String {
    let (days, time) = secondsAndNanoseconds.quotient.flooredQuotientAndRemainder(by: 86_400)
    let date = CalendarDay.date(daysSinceEpoch: days)
    func twoDigits(_ number: Int64) -> String { "\(number < 10 ? "0" : "")\(number)" }
    let day = "\(date / 10_000)-\(twoDigits(date / 100 % 100))-\(twoDigits(date % 100))"
    return "\(day)T\(twoDigits(time / 3_600)):\(twoDigits(time / 60 % 60)):\(twoDigits(time % 60))Z"
  }

  /// Whole seconds, rounded down, and the nanoseconds since then.
  var secondsAndNanoseconds: (quotient: Int64, remainder: Int64) {
    nanosecondsSinceEpoch.flooredQuotientAndRemainder(by: 1_000_000_000)
  }
}

/// A day of UTC.
package enum CalendarDay {
  /// The day that was asked for last, and its date.
  private static let last = Atomic<Int64>(19_700_101)

  /// The date of the day that is so many days after 1970-01-01, such as 20261121.
  package static func date(daysSinceEpoch days: Int64) -> Int64 {
    let known = last.load(ordering: .relaxed)
    if known >> 32 == days { return known & 0xffff_ffff }
    let date = System.date(secondsSinceEpoch: days &* 86_400)
    last.store(days << 32 | date, ordering: .relaxed)
    return date
  }
}

extension Int64 {
  /// Division that rounds down, that is towards the past. The divisor is positive.
  package func flooredQuotientAndRemainder(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient &- 1, remainder &+ divisor) : (quotient, remainder)
  }
}
