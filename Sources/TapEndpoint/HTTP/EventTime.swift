import TapCore

/// The clocks' readings when an event reaches a connection.
package struct EventTime: Sendable {
  /// For deadlines.
  package var instant: ContinuousClock.Instant
  /// The encoded `Date` of a response that is made now (RFC 9110, section 6.6.1).
  package let date: [UInt8]

  package init(instant: ContinuousClock.Instant, date: [UInt8]) {
    (self.instant, self.date) = (instant, date)
  }

  /// The date of a message (RFC 9110, section 5.6.7): `Sat, 21 Nov 2026 09:30:00 GMT`. Clamped to 1970 and
  /// 9999.
  package static func date(secondsSinceEpoch: Int64) -> [UInt8] {
    let (days, time) = min(max(secondsSinceEpoch, 0), 253_402_300_799).quotientAndRemainder(
      dividingBy: 86_400)
    let date = CalendarDay.date(daysSinceEpoch: days)
    func twoDigits(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int(days % 7)]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let day = "\(twoDigits(date % 100)) \(months[Int(date / 100 % 100 - 1)]) \(date / 10_000)"
    let clock = [time / 3600, time / 60 % 60, time % 60].map(twoDigits).joined(separator: ":")
    return Array("\(weekday), \(day) \(clock) GMT".utf8)
  }

  /// Reads the clocks. The date is encoded again only when its second has changed.
  struct Clock {
    private var second: Int64 = .min
    private var date: [UInt8] = []

    mutating func now() -> EventTime {
      let current = Timestamp.now.nanosecondsSinceEpoch / 1_000_000_000
      if current != second { (second, date) = (current, EventTime.date(secondsSinceEpoch: current)) }
      return EventTime(instant: .now, date: date)
    }
  }
}
