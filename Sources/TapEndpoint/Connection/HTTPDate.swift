/// The date of a message (RFC 9110, section 5.6.7): `Sat, 21 Nov 2026 09:30:00 GMT`.
package enum HTTPDate {
  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The `IMF-fixdate` of a POSIX time in seconds. Times before 1970 and after 9999 are moved to these bounds.
  package static func bytes(secondsSinceEpoch: Int64) -> [UInt8] {
    let seconds = min(max(secondsSinceEpoch, 0), 253_402_300_799)
    let days = Int(seconds / 86400)
    let time = Int(seconds % 86400)
    // Years are counted from March, so that the leap day is a year's last, and in eras of 400 years, after
    // which the Gregorian calendar repeats. 719,468 days lie between 0000-03-01 and 1970-01-01.
    let shifted = days + 719_468
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = (monthFromMarch + 2) % 12
    let year = shifted / 146_097 * 400 + yearOfEra + (month < 2 ? 1 : 0)

    var bytes: [UInt8] = []
    bytes.reserveCapacity(29)
    bytes.append(contentsOf: weekdays[(days + 4) % 7].utf8)
    bytes.append(contentsOf: ", ".utf8)
    append(day, digits: 2, to: &bytes)
    bytes.append(contentsOf: " \(months[month]) ".utf8)
    append(year, digits: 4, to: &bytes)
    for (separator, value) in [(" ", time / 3600), (":", time / 60 % 60), (":", time % 60)] {
      bytes.append(contentsOf: separator.utf8)
      append(value, digits: 2, to: &bytes)
    }
    bytes.append(contentsOf: " GMT".utf8)
    return bytes
  }

  private static func append(_ value: Int, digits: Int, to bytes: inout [UInt8]) {
    var divisor = 1
    for _ in 1..<digits { divisor *= 10 }
    while divisor > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
      divisor /= 10
    }
  }
}
