/// The delimiters and the classes of ASCII that names, URLs and HTTP are made of. Inlinable where other
/// modules look at each byte of a text.
extension UInt8 {
  @inlinable package static var tab: UInt8 { UInt8(ascii: "\t") }
  @inlinable package static var lineFeed: UInt8 { UInt8(ascii: "\n") }
  @inlinable package static var carriageReturn: UInt8 { UInt8(ascii: "\r") }
  @inlinable package static var space: UInt8 { UInt8(ascii: " ") }
  @inlinable package static var slash: UInt8 { UInt8(ascii: "/") }
  @inlinable package static var colon: UInt8 { UInt8(ascii: ":") }
  @inlinable package static var dot: UInt8 { UInt8(ascii: ".") }
  @inlinable package static var at: UInt8 { UInt8(ascii: "@") }
  @inlinable package static var percent: UInt8 { UInt8(ascii: "%") }
  @inlinable package static var question: UInt8 { UInt8(ascii: "?") }
  @inlinable package static var hash: UInt8 { UInt8(ascii: "#") }
  static var hyphen: UInt8 { UInt8(ascii: "-") }
  static var underscore: UInt8 { UInt8(ascii: "_") }

  @inlinable package var isASCIIDigit: Bool { self &- UInt8(ascii: "0") < 10 }

  @inlinable package var isASCIILetter: Bool { asciiLowercased &- UInt8(ascii: "a") < 26 }

  /// The lowercase form of an ASCII letter, and any other byte itself.
  @inlinable package var asciiLowercased: UInt8 { self &- UInt8(ascii: "A") < 26 ? self | 0x20 : self }

  /// `unreserved` of URIs (RFC 3986, section 2.3). The bits stand for `-`, `.` and the digits, and for the
  /// letters, `_` and `~`.
  @inlinable package var isUnreserved: Bool {
    let bits: UInt64 = self < 64 ? 0x03ff_6000_0000_0000 : 0x47ff_fffe_87ff_fffe
    return self < 128 && bits >> UInt64(self & 63) & 1 == 1
  }
}

extension BidirectionalCollection<UInt8> {
  /// Without spaces and tabs around it (RFC 9110, section 5.6.3). Inlinable, so that other modules call a
  /// specialized form.
  @inlinable package var trimmingBlanks: SubSequence {
    let isVisible = { (byte: UInt8) in byte != .space && byte != .tab }
    guard let first = firstIndex(where: isVisible), let last = lastIndex(where: isVisible) else {
      return self[endIndex...]
    }
    return self[first...last]
  }

  /// The last place, at most `limit` from the start, that is not inside a character of well-formed UTF-8.
  package func characterBoundary(before limit: Int) -> Index {
    guard var place = index(startIndex, offsetBy: Swift.max(0, limit), limitedBy: endIndex), place < endIndex
    else { return endIndex }
    while place > startIndex, self[place] & 0xC0 == 0x80 { formIndex(before: &place) }
    return place
  }
}

extension String {
  /// The longest beginning of at most `limit` bytes of UTF-8 that does not end inside a Unicode scalar.
  func prefix(utf8Length limit: Int) -> Substring { self[..<utf8.characterBoundary(before: limit)] }
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

extension String {
  /// The text of an error, with `REDACTED` in place of the userinfo of URLs.
  ///
  /// A password that was not encoded may contain spaces, quotation marks and slashes, so its beginning
  /// cannot be found. `REDACTED` replaces everything up to the last `@` (or `%40`) from the first of these:
  /// the word with the first `@`, the word with the first `://`, the text behind the first quotation mark.
  /// A scheme at this place stays. Of several URLs only the last keeps its host.
  package var withoutUserinfo: String {
    var text = Array(utf8)
    let ends = text.indices.filter { text[$0] == UInt8(ascii: "@") || text[$0...].starts(with: "%40".utf8) }
    guard let first = ends.first, let last = ends.last else { return self }
    func beginOfWord(_ index: Int) -> Int {
      text[..<index].lastIndex { $0 <= 0x20 || $0.isQuote }.map { $0 + 1 } ?? 0
    }
    let begins = [
      beginOfWord(first), text[..<last].firstRange(of: "://".utf8).map { beginOfWord($0.lowerBound) },
      text[..<last].firstIndex(where: \.isQuote).map { $0 + 1 },
    ]
    var start = begins.compactMap(\.self).min() ?? 0
    // The scheme stays.
    if let scheme = text[start..<last].firstRange(of: "://".utf8),
      text[start..<scheme.lowerBound].allSatisfy({ $0.isUnreserved || $0 == UInt8(ascii: "+") })
    {
      start = scheme.upperBound
    }
    text.replaceSubrange(start..<last, with: "REDACTED".utf8)
    return String(decoding: text, as: UTF8.self)
  }
}

extension UInt8 {
  fileprivate var isQuote: Bool {
    self == UInt8(ascii: "'") || self == UInt8(ascii: "\"") || self == UInt8(ascii: "`")
  }
}

extension String {
  /// On one line of a terminal or a page: without control characters and those that change the direction of
  /// the text (UAX #9, section 2), which names may have.
  package var oneLine: String {
    let scalars = unicodeScalars.map { scalar in
      let isUnwanted = scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
      return isUnwanted ? " " : scalar
    }
    return String(UnicodeScalarView(scalars))
  }
}
