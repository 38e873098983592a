/// Numbers as Prometheus writes and reads them.
enum FloatText {
  /// The shortest text that reads back as the same value, without an empty fraction.
  static func value(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    // Beyond 2^53 not every whole number is a value, and the shortest text has an exponent.
    if value.magnitude < 0x1p53, value == value.rounded(.towardZero) { return String(Int64(value)) }
    return value.description
  }

  /// Seconds since 1970, to the millisecond.
  static func seconds(_ time: Timestamp) -> String {
    let (seconds, nanoseconds) = time.secondsAndNanoseconds
    // Before 1970 the two parts would have different signs; no clock of a server is there.
    return "\(max(0, seconds)).\(String(1_000 + nanoseconds / 1_000_000).dropFirst())"
  }

  /// The value of `le`. It is part of a series' identity, so it must read as Prometheus itself makes it from
  /// a protobuf bound: shortest digits, an exponent below 10^-4 and from 10^6 on, and always a point or an
  /// exponent (`1.0`, `2.68435456e+08`).
  static func bound(_ value: Double) -> String {
    guard value.isFinite else { return self.value(value) }
    guard value != 0 else { return "0.0" }
    let text = value.magnitude.description
    let sign = value < 0 ? "-" : ""
    // Swift's own text differs only in that it has no exponent from 10^6 to 2^54.
    guard value.magnitude >= 1e6, !text.contains("e") else { return sign + text }
    let exponent = text.prefix { $0 != "." }.count - 1
    var digits = text.filter { $0 != "." }
    while digits.last == "0" { digits.removeLast() }
    if digits.count > 1 { digits.insert(".", at: digits.index(after: digits.startIndex)) }
    return "\(sign)\(digits)e+\(exponent < 10 ? "0" : "")\(exponent)"
  }
}
