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
