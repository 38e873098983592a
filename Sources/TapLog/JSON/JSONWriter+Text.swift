extension JSONWriter {
  /// A string in quotes, cut at `limit` bytes.
  mutating func string(_ text: String, limit: Int) {
    append(.quote)
    text.withBytes { content($0, limit: limit) }
    append(.quote)
  }

  /// What stands between the quotes of a string, cut between two characters at `limit` bytes and ended with `…` there.
  @inline(__always)
  mutating func content(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) {
    if bytes.count <= limit { return content(bytes) }
    content(UnsafeBufferPointer(rebasing: bytes[..<bytes.characterBoundary(before: limit)]))
    append("…")
  }

  /// What stands between the quotes of a string (RFC 8259, section 7).
  ///
  /// Escaped are the quote, the backslash, every control character (C0, DEL and C1) and U+2028 and U+2029, which
  /// end a line in JavaScript and in some readers of lines. Ill-formed UTF-8 becomes U+FFFD, one for each maximal
  /// subpart (Unicode 3.9, U+FFFD substitution of maximal subparts), as `String(decoding:as:)` has it.
  mutating func content(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let base = bytes.baseAddress else { return }
    let length = bytes.count
    var plain = 0  // Where the run of bytes that go as they are began.
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
