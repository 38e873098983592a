extension String {
  /// The text of an error without the userinfo of URLs: `REDACTED` stands before the last `@`, which may be percent-encoded, in place
  /// of all from where the first URL or quotation begins, or the first word with an `@`.
  ///
  /// What is between them may be a part of a password, which was not encoded: spaces, quotes and slashes too. So of several URLs
  /// little more is left than the last host.
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
