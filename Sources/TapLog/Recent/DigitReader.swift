/// Reads numbers of fixed widths, and what stands between them.
struct DigitReader {
  private var rest: Substring.UTF8View

  init(_ text: String) { rest = Substring(text).utf8 }

  var isAtEnd: Bool { rest.isEmpty }

  /// A number of exactly so many digits.
  mutating func number(_ digits: Int) -> Int64? {
    var value: Int64 = 0
    for _ in 0..<digits {
      guard let digit = digit() else { return nil }
      value = value * 10 + digit
    }
    return value
  }

  /// The digits behind a decimal point, one at least, as a number of so many; more are cut off.
  mutating func fraction(_ digits: Int) -> Int64? {
    guard var value = digit() else { return nil }
    var count = 1
    while let digit = digit() {
      if count < digits { value = value * 10 + digit }
      count += 1
    }
    while count < digits {
      value *= 10
      count += 1
    }
    return value
  }

  /// The offset of a time from UTC in seconds: `Z`, or hours and minutes.
  mutating func offset() -> Int64? {
    if skip("Z", "z") { return 0 }
    let isWest = skip("-")
    // In the query of a URL a plus sign stands for a space.
    guard isWest || skip("+", " "), let hours = number(2), skip(":"), let minutes = number(2), hours < 24,
      minutes < 60
    else { return nil }
    return (isWest ? -1 : 1) * (hours * 3_600 + minutes * 60)
  }

  /// Goes past one of these characters, if one comes next.
  mutating func skip(_ characters: Unicode.Scalar...) -> Bool {
    guard let byte = rest.first, characters.contains(where: { $0.value == UInt32(byte) }) else {
      return false
    }
    rest.removeFirst()
    return true
  }

  private mutating func digit() -> Int64? {
    guard let byte = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
    rest.removeFirst()
    return Int64(byte - UInt8(ascii: "0"))
  }
}
