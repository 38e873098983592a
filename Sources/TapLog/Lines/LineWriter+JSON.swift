import TapCore

/// The pieces of a line: texts and numbers.
extension LineWriter {
  private mutating func close() { (end, isClosed) = (next, true) }

  @inline(__always)
  mutating func append(_ text: StaticString) { append(text.utf8Start, count: text.utf8CodeUnitCount) }

  mutating func append(_ bytes: [UInt8]) {
    bytes.withUnsafeBufferPointer { bytes in
      if let base = bytes.baseAddress { append(base, count: bytes.count) }
    }
  }

  @inline(__always)
  private mutating func append(_ source: UnsafePointer<UInt8>, count: Int) {
    guard count <= end - next else { return close() }
    UnsafeMutableRawPointer(next).copyMemory(from: source, byteCount: count)
    next += count
  }

  /// The first `count` of eight bytes, of which the first one is the lowest.
  @inline(__always)
  private mutating func append(_ word: UInt64, count: Int) {
    guard count <= end - next else { return close() }
    next.put(word, at: 0)
    next += count
  }

  mutating func integer(_ value: Int64) {
    if value < 0 { append("-") }
    integer(value.magnitude)
  }

  mutating func integer(_ value: UInt64) {
    if value < 10 { return append(0x30 | value, count: 1) }
    let (high, low) = value.quotientAndRemainder(dividingBy: 100_000_000)
    if high > 0 {
      integer(high)
      append(Self.digits(low), count: 8)
    } else {
      let zeros = (Self.digits(low) & Self.values).trailingZeroBitCount / 8
      append(Self.digits(low) >> UInt64(8 &* zeros), count: 8 &- zeros)
    }
  }

  /// The shortest number that reads back as the same value (SE-0233's description). What JSON has no number
  /// for stands as the strings of the Protobuf JSON mapping: `"NaN"`, `"Infinity"`, `"-Infinity"`.
  mutating func double(_ value: Double) {
    if value.isFinite {
      append(Array(value.description.utf8))
    } else {
      append(value.isNaN ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"")
    }
  }

  mutating func hexadecimal(_ number: UInt64) {
    guard 16 <= end - next else { return close() }
    HexadecimalDigits.write(number, to: next)
    next += 16
  }

  /// A time in seconds: all digits, no trailing zeros, and no conversion to a floating-point number. A
  /// negative time, which no monotonic clock gives, is 0.
  mutating func seconds(nanoseconds: Int64) {
    let (seconds, fraction) = UInt64(max(0, nanoseconds)).quotientAndRemainder(dividingBy: 1_000_000_000)
    integer(seconds)
    guard fraction > 0 else { return }
    // Nine digits: one, and eight.
    let (first, rest) = fraction.quotientAndRemainder(dividingBy: 100_000_000)
    append(0x302E | first << 8, count: 2)
    let digits = Self.digits(rest)
    append(digits, count: 8 &- (digits & Self.values).leadingZeroBitCount / 8)
  }

  /// A point in time by RFC 3339, in UTC and to the microsecond, always 27 characters:
  /// `2026-11-21T09:30:00.123456Z`.
  mutating func timestamp(_ time: Timestamp) {
    // Rounded down, before 1970 too, so that the order of the texts is the order of the times.
    let (seconds, nanoseconds) = time.nanosecondsSinceEpoch.flooredQuotientAndRemainder(by: 1_000_000_000)
    let (days, second) = seconds.flooredQuotientAndRemainder(by: 86_400)
    let day = Self.digits(UInt64(truncatingIfNeeded: CalendarDay.date(daysSinceEpoch: days)))
    let clock = Self.digits(
      UInt64(truncatingIfNeeded: second / 3_600 &* 10_000 &+ second / 60 % 60 &* 100 &+ second % 60))
    let fraction = Self.digits(UInt64(truncatingIfNeeded: nanoseconds / 1_000))
    guard 27 <= end - next else { return close() }
    // From left to right: each is written over what the one before has too much.
    next.put(day, at: 0)
    next.put("-", day >> 32, at: 4)
    next.put("-", day >> 48, at: 7)
    next.put("T", clock >> 16, at: 10)
    next.put(":", clock >> 32, at: 13)
    next.put(":", clock >> 48, at: 16)
    next.put(".", fraction >> 16, at: 19)
    next.put("Z", 0, at: 26)
    next += 27
  }

  /// The eight decimal digits of a number below 100,000,000, with zeros in front, as a text: the first one is
  /// the lowest byte.
  ///
  /// Halves the number three times, in all its parts at once: into two numbers of four digits, four of two,
  /// and eight of one. The divisions by 100 and by 10 are multiplications that are exact for so small
  /// numbers.
  @inline(__always)
  private static func digits(_ value: UInt64) -> UInt64 {
    let (high, low) = value.quotientAndRemainder(dividingBy: 10_000)
    let fours = high | low << 32
    let hundreds = ((fours &* 10_486) >> 20) & 0x0000_007F_0000_007F
    let twos = hundreds | (fours &- hundreds &* 100) << 16
    let tens = ((twos &* 103) >> 10) & 0x000F_000F_000F_000F
    return 0x3030_3030_3030_3030 | tens | (twos &- tens &* 10) << 8
  }

  /// Of digits in a text, their values.
  private static var values: UInt64 { 0x0F0F_0F0F_0F0F_0F0F }
}

// MARK: - Strings

extension LineWriter {
  /// A string in quotes, cut at `limit` bytes.
  mutating func string(_ text: String, limit: Int) {
    append("\"")
    var text = text
    text.withUTF8 { content($0, limit: limit) }
    append("\"")
  }

  /// The content of a string, without its quotes (RFC 8259, section 7), cut between two characters at `limit`
  /// bytes and ended with `…` there.
  ///
  /// Escaped are the quote, the backslash, every control character (C0, DEL and C1) and U+2028 and U+2029,
  /// which end a line in JavaScript and in some readers of lines. The bytes are UTF-8 as a `String` has it:
  /// well-formed.
  mutating func content(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) {
    guard var source = bytes.baseAddress else { return }
    let count = bytes.count <= limit ? bytes.count : bytes.characterBoundary(before: limit)
    var left = count
    while left > 0 {
      // Eight bytes at a time, the last time with some that are written already: nearly all text of a line is
      // plain.
      var length = min(8, left)
      let word = count < 8 ? Self.shortWord(source, left) : (source + length - 8).word
      if Self.isPlain(word) {
        append(word >> UInt64(64 &- 8 &* length), count: length)
      } else {
        length = escape(source, left)
      }
      source += length
      left &-= length
    }
    if count < bytes.count { append("…") }
  }

  /// Less than eight bytes, behind spaces.
  @inline(__always)
  private static func shortWord(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> UInt64 {
    var word: UInt64 = 0x2020_2020_2020_2020
    for index in 0..<count { word = word >> 8 | UInt64(bytes[index]) << 56 }
    return word
  }

  /// Whether all eight bytes need no escaping: ASCII, no control character, no quote, no backslash.
  @inline(__always)
  private static func isPlain(_ word: UInt64) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let tops: UInt64 = 0x8080_8080_8080_8080
    // The classic test for a zero byte, on the word less each byte that is looked for.
    let quote = word ^ (ones &* 0x22)
    let backslash = word ^ (ones &* 0x5C)
    let delete = word ^ (ones &* 0x7F)
    let found =
      word | ((word &- ones &* 0x20) & ~word) | ((quote &- ones) & ~quote)
      | ((backslash &- ones) & ~backslash) | ((delete &- ones) & ~delete)
    return found & tops == 0
  }

  /// Writes one character, or one byte of one that needs no escaping, and returns its length.
  private mutating func escape(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int {
    switch bytes[0] {
    case UInt8(ascii: "\""): append("\\\"")
    case UInt8(ascii: "\\"): append("\\\\")
    case 0x08: append("\\b")
    case 0x09: append("\\t")
    case 0x0A: append("\\n")
    case 0x0C: append("\\f")
    case 0x0D: append("\\r")
    case let control where control < 0x20 || control == 0x7F: escape(control)
    // U+0080 to U+009F are C2 80 to C2 9F, U+2028 and U+2029 are E2 80 A8 and E2 80 A9.
    case 0xC2 where count > 1 && bytes[1] < 0xA0:
      escape(bytes[1])
      return 2
    case 0xE2 where count > 2 && bytes[1] == 0x80 && bytes[2] & 0xFE == 0xA8:
      append(bytes[2] == 0xA8 ? "\\u2028" : "\\u2029")
      return 3
    default: append(UInt64(bytes[0]), count: 1)
    }
    return 1
  }

  private mutating func escape(_ control: UInt8) {
    append(Array("\\u00\(control < 0x10 ? "0" : "")\(String(control, radix: 16))".utf8))
  }
}

extension UnsafePointer<UInt8> {
  /// Eight bytes, of which the first one is the lowest.
  fileprivate var word: UInt64 {
    UInt64(littleEndian: UnsafeRawPointer(self).loadUnaligned(as: UInt64.self))
  }
}

extension UnsafeMutablePointer<UInt8> {
  @inline(__always)
  fileprivate func put(_ word: UInt64, at offset: Int) {
    UnsafeMutableRawPointer(self + offset).storeBytes(of: word.littleEndian, as: UInt64.self)
  }

  /// An ASCII character, and seven bytes behind it.
  @inline(__always)
  fileprivate func put(_ character: Unicode.Scalar, _ rest: UInt64, at offset: Int) {
    put(UInt64(character.value) | rest << 8, at: offset)
  }
}
