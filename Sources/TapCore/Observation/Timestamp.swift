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

  /// Whole seconds, rounded down, and the nanoseconds since then.
  var secondsAndNanoseconds: (quotient: Int64, remainder: Int64) {
    nanosecondsSinceEpoch.flooredQuotientAndRemainder(by: 1_000_000_000)
  }
}

/// A day of the proleptic Gregorian calendar.
package struct CivilDate {
  package let year: Int64
  package let month: Int64
  package let day: Int64

  /// The date that is so many days after 1970-01-01.
  ///
  /// Counts from 0000-03-01, so that a leap day is the last of its year, in eras of 400 years, which are all of
  /// the same length; the months from March on are then a linear function (Hinnant, "chrono-Compatible
  /// Low-Level Date Algorithms", civil_from_days).
  package init(daysSinceEpoch: Int64) {
    let (era, dayOfEra) = (daysSinceEpoch &+ 719_468).flooredQuotientAndRemainder(by: 146_097)
    let yearOfEra = (dayOfEra &- dayOfEra / 1_460 &+ dayOfEra / 36_524 &- dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra &- (365 &* yearOfEra &+ yearOfEra / 4 &- yearOfEra / 100)
    let marchMonth = (5 &* dayOfYear &+ 2) / 153
    day = dayOfYear &- (153 &* marchMonth &+ 2) / 5 &+ 1
    month = marchMonth < 10 ? marchMonth &+ 3 : marchMonth &- 9
    year = yearOfEra &+ era &* 400 &+ (month <= 2 ? 1 : 0)
  }
}

extension Int64 {
  /// Division that rounds down, that is towards the past. The divisor is positive.
  package func flooredQuotientAndRemainder(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient &- 1, remainder &+ divisor) : (quotient, remainder)
  }
}
