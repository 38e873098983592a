/// What a byte above 0x7F begins: a well-formed character or a maximal subpart of an ill-formed one (Unicode
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
