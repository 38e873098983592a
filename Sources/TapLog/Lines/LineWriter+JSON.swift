import TapCore

/// The pieces of a line: texts and numbers.
extension LineWriter {
  @inline(__always)
  mutating func append(_ text: StaticString) {
    append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { append($0) } }

  mutating func integer(_ value: Int64) {
    if value < 0 { append("-") }
    integer(value.magnitude)
  }

  mutating func integer(_ value: UInt64) {
    var (count, rest) = (1, value / 10)
    while rest > 0 { (count, rest) = (count + 1, rest / 10) }
    reserve(count) { Self.write(value, count: count, to: $0) }
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
    reserve(16) { HexadecimalDigits.write(number, to: $0) }
  }

  /// A time in seconds: all digits, no trailing zeros, and no conversion to a floating-point number. A
  /// negative time, which no monotonic clock gives, is 0.
  mutating func seconds(nanoseconds: Int64) {
    var (seconds, fraction) = UInt64(max(0, nanoseconds)).quotientAndRemainder(dividingBy: 1_000_000_000)
    integer(seconds)
    guard fraction > 0 else { return }
    var count = 9
    while fraction.isMultiple(of: 10) { (fraction, count) = (fraction / 10, count - 1) }
    reserve(1 + count) { memory in
      memory[0] = UInt8(ascii: ".")
      Self.write(fraction, count: count, to: memory + 1)
    }
  }

  /// A point in time by RFC 3339, in UTC and to the microsecond, always 27 characters:
  /// `2026-11-21T09:30:00.123456Z`.
  mutating func timestamp(_ time: Timestamp) {
    // Rounded down, before 1970 too, so that the order of the texts is the order of the times.
    let (seconds, nanoseconds) = time.nanosecondsSinceEpoch.flooredQuotientAndRemainder(by: 1_000_000_000)
    let (days, second) = seconds.flooredQuotientAndRemainder(by: 86_400)
    let date = CalendarDay.date(daysSinceEpoch: days)
    reserve(27) { memory in
      var next = memory
      func part(_ value: Int64, _ count: Int, _ separator: Unicode.Scalar) {
        Self.write(UInt64(truncatingIfNeeded: value), count: count, to: next)
        next[count] = UInt8(ascii: separator)
        next += count + 1
      }
      part(date / 10_000, 4, "-")
      part(date / 100 % 100, 2, "-")
      part(date % 100, 2, "T")
      part(second / 3_600, 2, ":")
      part(second / 60 % 60, 2, ":")
      part(second % 60, 2, ".")
      part(nanoseconds / 1_000, 6, "Z")
    }
  }

  /// The last decimal digits of a number, with zeros in front.
  private static func write(_ value: UInt64, count: Int, to target: UnsafeMutablePointer<UInt8>) {
    var rest = value
    for index in (0..<count).reversed() {
      target[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
  }
}

// MARK: - Strings

extension LineWriter {
  /// A string in quotes, cut at `limit` bytes.
  mutating func string(_ text: String, limit: Int) {
    append("\"")
    // `withUTF8` needs a copy. Every string is contiguous where there is no Objective-C.
    if text.utf8.withContiguousStorageIfAvailable({ _ = content($0, limit: limit) }) == nil {
      var copy = text
      copy.withUTF8 { _ = content($0, limit: limit) }
    }
    append("\"")
  }

  /// The content of a string, without its quotes (RFC 8259, section 7), cut between two characters at `limit`
  /// bytes, or `room` bytes with the escapes, and ended with `…` there. Returns whether it is whole.
  ///
  /// Escaped are the quote, the backslash, every control character (C0, DEL and C1) and U+2028 and U+2029,
  /// which end a line in JavaScript and in some readers of lines. The bytes are UTF-8 as a `String` has it:
  /// well-formed.
  @discardableResult
  mutating func content(
    _ bytes: UnsafeBufferPointer<UInt8>, limit: Int, room: Int = LineLimits.escapedText
  ) -> Bool {
    var count = bytes.count <= limit ? bytes.count : bytes.characterBoundary(before: limit)
    // An escape takes six bytes at most.
    if count > room / 6 { count = Self.length(of: bytes, limit: count, room: room) }
    // What is before `start` is written. Nearly all text of a line is plain, and is copied as a whole.
    var (start, index) = (0, 0)
    while index < count {
      let byte = bytes[index]
      if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
        index += 1
        continue
      }
      let length = Self.lengthToEscape(bytes[index..<count])
      if length > 0 {
        append(UnsafeBufferPointer(rebasing: bytes[start..<index]))
        escape(bytes[index..<index + length])
        start = index + length
      }
      index += max(1, length)
    }
    append(UnsafeBufferPointer(rebasing: bytes[start..<count]))
    if count < bytes.count { append("…") }
    return count == bytes.count
  }

  /// How many of the first bytes have room with their escapes, as far as the end of a character.
  private static func length(of bytes: UnsafeBufferPointer<UInt8>, limit: Int, room: Int) -> Int {
    var (index, left) = (0, room)
    while index < limit {
      let length = lengthToEscape(bytes[index..<limit])
      left -= length == 0 ? 1 : lengthOfEscape(bytes[index])
      if left < 0 { return bytes.characterBoundary(before: index) }
      index += max(1, length)
    }
    return limit
  }

  /// The length of a first character that is to be escaped, and 0 for another one.
  private static func lengthToEscape(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Int {
    let start = bytes.startIndex
    switch bytes[start] {
    case 0x20..<0x7F where bytes[start] != UInt8(ascii: "\"") && bytes[start] != UInt8(ascii: "\\"): return 0
    case 0x00..<0x80: return 1
    // U+0080 to U+009F are C2 80 to C2 9F, U+2028 and U+2029 are E2 80 A8 and E2 80 A9.
    case 0xC2 where bytes.count > 1 && bytes[start + 1] < 0xA0: return 2
    case 0xE2 where bytes.count > 2 && bytes[start + 1] == 0x80 && bytes[start + 2] & 0xFE == 0xA8: return 3
    default: return 0
    }
  }

  /// The length of the escape of a character that begins so.
  private static func lengthOfEscape(_ byte: UInt8) -> Int {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x08, 0x09, 0x0A, 0x0C, 0x0D: 2
    default: 6
    }
  }

  private mutating func escape(_ character: Slice<UnsafeBufferPointer<UInt8>>) {
    let last = character[character.endIndex - 1]
    switch (last, character.count) {
    case (UInt8(ascii: "\""), _): append("\\\"")
    case (UInt8(ascii: "\\"), _): append("\\\\")
    case (0x08, _): append("\\b")
    case (0x09, _): append("\\t")
    case (0x0A, _): append("\\n")
    case (0x0C, _): append("\\f")
    case (0x0D, _): append("\\r")
    case (_, 3): append(last == 0xA8 ? "\\u2028" : "\\u2029")
    // The last byte of a C1 control is its number, too.
    default: append(Array("\\u00\(last < 0x10 ? "0" : "")\(String(last, radix: 16))".utf8))
    }
  }
}
