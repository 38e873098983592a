/// The classes of ASCII that names, URLs and HTTP are made of.
extension UInt8 {
  package var isASCIIDigit: Bool { self &- UInt8(ascii: "0") < 10 }

  package var isASCIILetter: Bool { asciiLowercased &- UInt8(ascii: "a") < 26 }

  /// The lowercase form of an ASCII letter, and any other byte itself.
  package var asciiLowercased: UInt8 { self &- UInt8(ascii: "A") < 26 ? self | 0x20 : self }
}

extension BidirectionalCollection<UInt8> {
  /// Without the spaces and tabs around it (RFC 9110, section 5.6.3). Inlinable, so that other modules' calls
  /// are not generic ones.
  @inlinable package var trimmingBlanks: SubSequence {
    let isVisible = { (byte: UInt8) in byte != UInt8(ascii: " ") && byte != UInt8(ascii: "\t") }
    guard let first = firstIndex(where: isVisible), let last = lastIndex(where: isVisible) else {
      return self[endIndex...]
    }
    return self[first...last]
  }
}

/// Base64 (RFC 4648, section 4).
extension Collection<UInt8> {
  package var base64: [UInt8] {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var (text, rest): ([UInt8], ArraySlice<UInt8>) = ([], Array(self)[...])
    while !rest.isEmpty {
      let group = rest.prefix(3)
      rest = rest.dropFirst(3)
      let bits = (group + [0, 0]).prefix(3).reduce(0) { $0 << 8 | Int($1) }
      for digit in 0..<4 {
        text.append(digit <= group.count ? digits[bits >> (18 - 6 * digit) & 63] : UInt8(ascii: "="))
      }
    }
    return text
  }
}
