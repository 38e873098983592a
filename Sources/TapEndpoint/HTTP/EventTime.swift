import TapCore

/// The clocks' readings when an event reaches a connection, whose state machine reads no clock.
package struct EventTime: Sendable {
  /// For deadlines.
  package var instant: ContinuousClock.Instant
  /// The encoded `Date` of a response that is made now (RFC 9110, section 6.6.1).
  package let date: [UInt8]

  package init(instant: ContinuousClock.Instant, date: [UInt8]) {
    self.instant = instant
    self.date = date
  }

  /// The date of a message (RFC 9110, section 5.6.7): `Sat, 21 Nov 2026 09:30:00 GMT`. Times before 1970 and after 9999 are
  /// moved to these bounds.
  package static func date(secondsSinceEpoch: Int64) -> [UInt8] {
    let seconds = min(max(secondsSinceEpoch, 0), 253_402_300_799)
    let (days, time) = seconds.quotientAndRemainder(dividingBy: 86_400)
    let date = CivilDate(daysSinceEpoch: days)
    func digits(_ value: Int64, _ count: Int) -> String {
      String(repeating: "0", count: count - String(value).count) + String(value)
    }
    let day = "\(weekdays[Int((days + 4) % 7)]), \(digits(date.day, 2)) \(months[Int(date.month - 1)])"
    let clock = [time / 3600, time / 60 % 60, time % 60].map { digits($0, 2) }.joined(separator: ":")
    return Array("\(day) \(digits(date.year, 4)) \(clock) GMT".utf8)
  }

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}
