import TapCore

/// The date of a message (RFC 9110, section 5.6.7): `Sat, 21 Nov 2026 09:30:00 GMT`.
package enum HTTPDate {
  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The `IMF-fixdate` of a POSIX time in seconds. Times before 1970 and after 9999 are moved to these bounds.
  package static func bytes(secondsSinceEpoch: Int64) -> [UInt8] {
    let seconds = min(max(secondsSinceEpoch, 0), 253_402_300_799)
    let (days, time) = seconds.quotientAndRemainder(dividingBy: 86_400)
    let date = CivilDate(daysSinceEpoch: days)

    var bytes: [UInt8] = []
    bytes.reserveCapacity(29)
    bytes.append(contentsOf: weekdays[Int((days + 4) % 7)].utf8)
    bytes.append(contentsOf: ", ".utf8)
    append(date.day, digits: 2, to: &bytes)
    bytes.append(contentsOf: " \(months[Int(date.month - 1)]) ".utf8)
    append(date.year, digits: 4, to: &bytes)
    for (separator, value) in [(" ", time / 3600), (":", time / 60 % 60), (":", time % 60)] {
      bytes.append(contentsOf: separator.utf8)
      append(value, digits: 2, to: &bytes)
    }
    bytes.append(contentsOf: " GMT".utf8)
    return bytes
  }

  private static func append(_ value: Int64, digits: Int, to bytes: inout [UInt8]) {
    var divisor: Int64 = 1
    for _ in 1..<digits { divisor *= 10 }
    while divisor > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
      divisor /= 10
    }
  }
}
