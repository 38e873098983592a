extension JSONWriter {
  /// A string in quotes, cut at `limit` bytes.
  mutating func string(_ text: String, limit: Int) {
    append(.quote)
    text.withBytes { content($0, limit: limit) }
    append(.quote)
  }

  /// The content of a string, without its quotes, cut between two characters at `limit` bytes and ended with `…` there.
  @inline(__always)
  mutating func content(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) {
    if bytes.count <= limit { return content(bytes) }
    content(UnsafeBufferPointer(rebasing: bytes[..<bytes.characterBoundary(before: limit)]))
    append("…")
  }

  /// The content of a string, without its quotes (RFC 8259, section 7).
  ///
  /// Escaped are the quote, the backslash, every control character (C0, DEL and C1) and U+2028 and U+2029, which
  /// end a line in JavaScript and in some readers of lines. Ill-formed UTF-8 becomes U+FFFD, one for each maximal
  /// subpart (Unicode 3.9, U+FFFD substitution of maximal subparts), as `String(decoding:as:)` has it.
  mutating func content(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let base = bytes.baseAddress else { return }
    let length = bytes.count
    var plain = 0  // The start of the run of bytes that need no escaping.
    var index = 0
    while true {
      index &+= PlainText.prefix(of: base + index, count: length &- index)
      guard index < length else { break }
      let byte = base[index]
      if byte >= 0x80 {
        let character = UTF8Character(base + index, count: length &- index)
        if character.kind == .ordinary {
          index &+= character.length
          continue
        }
        append(base + plain, count: index &- plain)
        escape(character, at: base + index)
        index &+= character.length
        plain = index
      } else if byte < 0x20 || byte == .quote || byte == .backslash || byte == 0x7F {
        append(base + plain, count: index &- plain)
        escape(byte)
        index &+= 1
        plain = index
      } else {
        index &+= 1
      }
    }
    append(base + plain, count: length &- plain)
  }

  private mutating func escape(_ byte: UInt8) {
    switch byte {
    case .quote: append("\\\"")
    case .backslash: append("\\\\")
    case 0x08: append("\\b")
    case 0x09: append("\\t")
    case 0x0A: append("\\n")
    case 0x0C: append("\\f")
    case 0x0D: append("\\r")
    default:
      append("\\u00")
      hexadecimal(byte)
    }
  }

  private mutating func escape(_ character: UTF8Character, at bytes: UnsafePointer<UInt8>) {
    switch character.kind {
    case .ordinary: append(bytes, count: character.length)
    case .illFormed: append("\u{FFFD}")
    case .control:  // U+0080 to U+009F are C2 80 to C2 9F.
      append("\\u00")
      hexadecimal(bytes[1])
    case .lineSeparator:  // U+2028 and U+2029 are E2 80 A8 and E2 80 A9.
      append(bytes[2] == 0xA8 ? "\\u2028" : "\\u2029")
    }
  }

  private mutating func hexadecimal(_ byte: UInt8) {
    for digit in [byte >> 4, byte & 15] {
      append(digit < 10 ? UInt8(ascii: "0") &+ digit : UInt8(ascii: "a") &+ digit &- 10)
    }
  }
}

/// Finds text that needs no escaping in a JSON string, eight bytes at a time: nearly all text of a line needs none.
enum PlainText {
  /// A number of bytes at the start that need no escaping: all of them, or at most those before the first that does.
  @inline(__always)
  static func prefix(of bytes: UnsafePointer<UInt8>, count: Int) -> Int {
    guard count >= 8 else { return isPlain(shortWord(of: bytes, count: count)) ? count : 0 }
    var index = 0
    while index &+ 8 <= count {
      guard isPlain(word(at: bytes + index)) else { return index }
      index &+= 8
    }
    // The rest with bytes that are known already.
    return isPlain(word(at: bytes + (count &- 8))) ? count : index
  }

  @inline(__always)
  private static func word(at bytes: UnsafePointer<UInt8>) -> UInt64 {
    UnsafeRawPointer(bytes).loadUnaligned(as: UInt64.self)
  }

  /// All bytes of a text of fewer than eight, some of them twice, and spaces.
  @inline(__always)
  private static func shortWord(of bytes: UnsafePointer<UInt8>, count: Int) -> UInt64 {
    guard count > 0 else { return spaces }
    if count >= 4 {
      let first = UnsafeRawPointer(bytes).loadUnaligned(as: UInt32.self)
      let last = UnsafeRawPointer(bytes + (count &- 4)).loadUnaligned(as: UInt32.self)
      return UInt64(first) << 32 | UInt64(last)
    }
    let ends = UInt64(bytes[0]) << 16 | UInt64(bytes[count &- 1]) << 8
    return spaces << 24 | ends | UInt64(bytes[count >> 1])
  }

  private static let spaces = ones &* 0x20
  private static let ones: UInt64 = 0x0101_0101_0101_0101

  /// Whether all eight bytes need no escaping: ASCII, no control character, no quote, no backslash.
  @inline(__always)
  private static func isPlain(_ word: UInt64) -> Bool {
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
}

/// The character at a byte above 0x7F: a well-formed character or a maximal subpart of an ill-formed one (Unicode
/// 3.9, table 3-7 and definition D93b).
struct UTF8Character {
  let length: Int
  let kind: Kind

  enum Kind {
    case ordinary
    /// U+0080 to U+009F.
    case control
    /// U+2028 or U+2029.
    case lineSeparator
    case illFormed
  }

  /// Reads the character at `bytes`, of which `count` may be read, one at least.
  init(_ bytes: UnsafePointer<UInt8>, count: Int) {
    let first = bytes[0]
    // The range of the second byte rules out overlong forms, surrogates, and what is above U+10FFFF.
    let (needed, second): (Int, ClosedRange<UInt8>) =
      switch first {
      case 0xC2...0xDF: (2, 0x80...0xBF)
      case 0xE0: (3, 0xA0...0xBF)
      case 0xED: (3, 0x80...0x9F)
      case 0xE1...0xEF: (3, 0x80...0xBF)
      case 0xF0: (4, 0x90...0xBF)
      case 0xF1...0xF3: (4, 0x80...0xBF)
      case 0xF4: (4, 0x80...0x8F)
      default: (1, 0...0)
      }
    var valid = 1
    if needed > 1, count > 1, second.contains(bytes[1]) {
      valid = 2
      while valid < needed, valid < count, bytes[valid] & 0xC0 == 0x80 { valid &+= 1 }
    }
    length = valid
    guard needed > 1, valid == needed else {
      kind = .illFormed
      return
    }
    if first == 0xC2, bytes[1] < 0xA0 {
      kind = .control
    } else if first == 0xE2, bytes[1] == 0x80, bytes[2] & 0xFE == 0xA8 {
      kind = .lineSeparator
    } else {
      kind = .ordinary
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// The last place at or before `limit` that is not inside a character.
  func characterBoundary(before limit: Int) -> Int {
    guard limit < count else { return count }
    var index = Swift.max(0, limit)
    // At most three continuation bytes belong to one character; more are ill-formed and may be cut anywhere.
    var left = 3
    while index > 0, left > 0, self[index] & 0xC0 == 0x80 {
      index -= 1
      left -= 1
    }
    return index
  }
}

extension String {
  /// The bytes of the text, without a copy where it is stored as UTF-8.
  @inline(__always)
  func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
    var copy = self  // A bridged NSString, on Darwin only.
    return copy.withUTF8(body)
  }
}

extension UInt8 {
  static let quote = UInt8(ascii: "\"")
  static let backslash = UInt8(ascii: "\\")
  static let newline = UInt8(ascii: "\n")
}
