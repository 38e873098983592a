/// Numbers as Prometheus writes and reads them.
enum FloatText {
  /// The shortest text that reads back as the same value, without a fraction where there is none.
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
    let digits = String(nanoseconds / 1_000_000)
    // Before 1970 the two parts would have different signs; no clock of a server is there.
    return String(max(0, seconds)) + "." + String(repeating: "0", count: 3 - digits.count) + digits
  }

  /// The value of `le`. It is part of a series' identity, so it must read as Prometheus itself makes it from a
  /// protobuf bound: shortest digits, an exponent below 10^-4 and from 10^6 on, and always a point or an
  /// exponent (`1.0`, `2.68435456e+08`).
  static func bound(_ value: Double) -> String {
    guard value.isFinite else { return self.value(value) }
    guard value != 0 else { return "0.0" }
    let (digits, exponent) = decimal(value.magnitude)
    let sign = value < 0 ? "-" : ""
    if !(-4..<6).contains(exponent) {
      let fraction = digits.count > 1 ? "." + digits.dropFirst() : ""
      let magnitude = String(exponent.magnitude)
      let padded = magnitude.count < 2 ? "0" + magnitude : magnitude
      return sign + digits.prefix(1) + fraction + "e" + (exponent < 0 ? "-" : "+") + padded
    }
    if exponent < 0 {
      return sign + "0." + String(repeating: "0", count: -exponent - 1) + digits
    }
    let whole = digits.prefix(exponent + 1)
    let fraction = digits.dropFirst(exponent + 1)
    return sign + whole + String(repeating: "0", count: exponent + 1 - whole.count) + "."
      + (fraction.isEmpty ? "0" : fraction)
  }

  /// The shortest digits of a positive value, `d.ddd`, and the exponent of ten.
  private static func decimal(_ value: Double) -> (digits: String, exponent: Int) {
    let parts = value.description.split(separator: "e")
    var exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
    let mantissa = parts[0].split(separator: ".", omittingEmptySubsequences: false)
    var digits = String(mantissa[0]) + (mantissa.count > 1 ? mantissa[1] : "")
    exponent += mantissa[0].count - 1
    while digits.first == "0", digits.count > 1 {
      digits.removeFirst()
      exponent -= 1
    }
    while digits.last == "0", digits.count > 1 { digits.removeLast() }
    return (digits, exponent)
  }
}
