extension ByteWriter {
  /// A further key, which needs no escaping: `,"key":`. In one piece, since a line has some 20.
  package mutating func key(_ key: StaticString) {
    let length = key.utf8CodeUnitCount
    guard length + 4 <= end &- written else { return close() }
    let start = memory + written
    (start[0], start[1]) = (UInt8(ascii: ","), UInt8(ascii: "\""))
    (start + 2).update(from: key.utf8Start, count: length)
    (start[length + 2], start[length + 3]) = (UInt8(ascii: "\""), UInt8(ascii: ":"))
    written &+= length + 4
  }

  /// A string in quotes, cut at `limit` bytes.
  package mutating func string(_ text: String, limit: Int) {
    append(UInt8(ascii: "\""))
    text.withBytes { content($0, limit: limit) }
    append(UInt8(ascii: "\""))
  }

  /// The content of a string, without its quotes, cut between two characters at `limit` bytes and ended with `…` there.
  package mutating func content(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) {
    if bytes.count <= limit { return content(bytes) }
    content(UnsafeBufferPointer(rebasing: bytes[..<bytes.characterBoundary(before: limit)]))
    append("…")
  }

  /// The content of a string, without its quotes (RFC 8259, section 7).
  ///
  /// Escaped are the quote, the backslash, every control character (C0, DEL and C1) and U+2028 and U+2029, which
  /// end a line in JavaScript and in some readers of lines. The bytes are UTF-8 as a `String` has it: well-formed.
  private mutating func content(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let base = bytes.baseAddress else { return }
    var plain = 0  // The start of the run of bytes that need no escaping.
    var index = 0
    while index < bytes.count {
      // Eight bytes at a time: nearly all text of a line is plain. The last eight may begin with bytes that are known already.
      let wordStart = min(index, bytes.count &- 8)
      if wordStart >= 0, Self.isPlain(UnsafeRawPointer(base + wordStart).loadUnaligned(as: UInt64.self)) {
        index = wordStart &+ 8
        continue
      }
      let length = Self.lengthOfSpecialCharacter(base + index, end: base + bytes.count)
      guard length > 0 else {
        index &+= 1
        continue
      }
      append(base + plain, count: index &- plain)
      escape(UnsafeBufferPointer(start: base + index, count: length))
      index &+= length
      plain = index
    }
    append(base + plain, count: bytes.count &- plain)
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

  /// How many bytes the character at `bytes` has if it is to be escaped, or 0.
  @inline(__always)
  private static func lengthOfSpecialCharacter(
    _ bytes: UnsafePointer<UInt8>, end: UnsafePointer<UInt8>
  ) -> Int {
    switch bytes[0] {
    case ..<0x20, UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x7F: 1
    // U+0080 to U+009F are C2 80 to C2 9F, U+2028 and U+2029 are E2 80 A8 and E2 80 A9.
    case 0xC2: end - bytes > 1 && bytes[1] < 0xA0 ? 2 : 0
    case 0xE2: end - bytes > 2 && bytes[1] == 0x80 && bytes[2] & 0xFE == 0xA8 ? 3 : 0
    default: 0
    }
  }

  /// The shortest number that reads back as the same value (SE-0233's description). What JSON has no number for
  /// stands as the strings of the Protobuf JSON mapping: `"NaN"`, `"Infinity"`, `"-Infinity"`.
  package mutating func double(_ value: Double) {
    guard value.isFinite else {
      return append(value.isNaN ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"")
    }
    append(text: value.description)
  }

  private mutating func escape(_ character: UnsafeBufferPointer<UInt8>) {
    switch (character.count, character[0]) {
    case (1, UInt8(ascii: "\"")): append("\\\"")
    case (1, UInt8(ascii: "\\")): append("\\\\")
    case (1, 0x08): append("\\b")
    case (1, 0x09): append("\\t")
    case (1, 0x0A): append("\\n")
    case (1, 0x0C): append("\\f")
    case (1, 0x0D): append("\\r")
    case (3, _): append(character[2] == 0xA8 ? "\\u2028" : "\\u2029")
    default:
      append("\\u00")
      let digits = String(character[character.count - 1], radix: 16)
      append(text: digits.utf8.count < 2 ? "0" + digits : digits)
    }
  }
}

extension BidirectionalCollection<UInt8> {
  /// The last place, at most `limit` from the start, that is not inside a character of well-formed UTF-8.
  package func characterBoundary(before limit: Int) -> Index {
    guard var place = index(startIndex, offsetBy: Swift.max(0, limit), limitedBy: endIndex), place < endIndex
    else {
      return endIndex
    }
    while place > startIndex, self[place] & 0xC0 == 0x80 { formIndex(before: &place) }
    return place
  }
}

extension String {
  /// The bytes of the text, without a copy where it is stored as UTF-8.
  @inlinable @inline(__always)
  package func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
    var copy = self  // A bridged NSString, on Darwin only.
    return copy.withUTF8(body)
  }
}
