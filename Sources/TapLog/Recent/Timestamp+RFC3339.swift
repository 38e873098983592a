import TapCore

extension Timestamp {
  /// Reads a time as RFC 3339, section 5.6 has it: `2026-11-21T09:30:00.5+01:00`. What is finer than a nanosecond is cut
  /// off. `nil` if it is not such a time, or out of the range of 64 bits.
  init?(rfc3339 text: String) {
    var digits = DigitReader(text)
    guard let year = digits.number(4), digits.skip("-"), let month = digits.number(2), digits.skip("-"),
      let day = digits.number(2), digits.skip("T", "t", " "), let hour = digits.number(2), digits.skip(":"),
      let minute = digits.number(2), digits.skip(":"), let second = digits.number(2),
      let nanosecond = digits.skip(".") ? digits.fraction(9) : 0, let offset = digits.offset(), digits.isAtEnd
    else { return nil }
    let date = CivilDate(year: year, month: month, day: day)
    // A date that does not exist comes out as another one. Second 60 is a leap second, which POSIX time has not.
    guard (1...12).contains(month), CivilDate(daysSinceEpoch: date.daysSinceEpoch) == date, hour < 24,
      minute < 60, second <= 60
    else { return nil }
    let seconds = date.daysSinceEpoch * 86_400 + hour * 3_600 + minute * 60 + min(second, 59) - offset
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflow2) = whole.addingReportingOverflow(nanosecond)
    if overflow || overflow2 { return nil }
    self.init(nanosecondsSinceEpoch: sum)
  }
}
