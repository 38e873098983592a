/// The host and the port of a URL, read from its text (RFC 3986, section 3.2).
///
/// Exact or absent, because labels show the host, and in a URL that was put together wrongly part of a
/// password may stand in its place. A host is an IP literal, or a name of letters, digits, `-`, `.`, `_` and
/// `~`, as written except for ASCII capitals, which become small letters (section 6.2.2.1); it may be
/// internationalised, also percent-encoded. There is none before a port that is no number up to 65,535, nor
/// if an `@` further on may end the userinfo.
///
/// Reading the text takes a quarter of the instructions of Foundation's `URL.host`, `URL.port` and
/// `URL.scheme`.
package struct URLAuthority {
  package let host: String
  /// The port that is written, or the default of http and https; `nil` if there is none.
  package let port: Int?

  /// Reads the URL. `nil` if it names no host, or it is not certain which.
  package init?(_ url: String) {
    var url = url
    let found = url.withUTF8 { url in
      Self.find(in: url).map { (host: Self.name(url[$0.host]), port: $0.port) }
    }
    guard let found, !found.host.isEmpty else { return nil }
    (host, port) = found
  }

  /// In lowercase. A name with a percent sign stays: escapes are in capitals, and zones are case-sensitive.
  private static func name(_ host: Bytes) -> String {
    guard host.contains(where: { $0 != $0.asciiLowercased }), !host.contains(.percent) else {
      return String(decoding: host, as: UTF8.self)
    }
    return String(decoding: host.map(\.asciiLowercased), as: UTF8.self)
  }

  /// Where an authority is in the text of a URL.
  package struct Position {
    /// The text after the userinfo. Empty, as the host, in `file:///path`.
    package let hostAndPort: Range<Int>
    let host: Range<Int>
    let port: Int?
    /// The URL begins with `http://` or `https://`, then comes a plain name, perhaps a port, and a path or
    /// nothing.
    package var isPlain = false
  }

  private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

  /// Finds the authority. `nil` if there is none, or it is not certain what its host is.
  package static func find(in url: UnsafeBufferPointer<UInt8>) -> Position? {
    // One pass over the bytes is enough for nearly every URL.
    if let position = findPlain(in: url) { return position }
    guard let range = range(in: url) else { return nil }
    let scheme = url[..<(range.lowerBound - 3)]
    let start = url[range].lastIndex(of: .at).map { $0 + 1 } ?? range.lowerBound
    guard isEnd(range.upperBound, of: url, scheme) else { return nil }
    let text = url[start..<range.upperBound]
    if text.isEmpty { return Position(hostAndPort: start..<start, host: start..<start, port: nil) }
    var host = text.prefix { $0 != .colon }
    var remaining = text[host.endIndex...]
    if text.first == .openBracket {
      guard let bracket = text.firstIndex(of: .closeBracket) else { return nil }
      host = text[(start + 1)..<bracket]
      remaining = text[(bracket + 1)...]
      guard isIPLiteral(host), remaining.isEmpty || remaining.first == .colon else { return nil }
    } else {
      guard isName(host) else { return nil }
    }
    // The port may be empty.
    let digits = remaining.dropFirst()
    let port = digits.isEmpty ? defaultPort(of: scheme) : number(digits)
    guard digits.isEmpty || port != nil else { return nil }
    return Position(hostAndPort: start..<range.upperBound, host: host.startIndex..<host.endIndex, port: port)
  }

  private static func findPlain(in url: UnsafeBufferPointer<UInt8>) -> Position? {
    let start = url.starts(with: "http://") ? 7 : url.starts(with: "https://") ? 8 : 0
    var end = start
    while end < url.count, url[end].isUnreserved { end &+= 1 }
    let host = start..<end
    var port = start == 7 ? 80 : 443
    if end < url.count, url[end] == .colon {
      end &+= 1
      let digits = end
      port = 0
      while end < url.count, url[end].isASCIIDigit, end &- digits < 5 {
        port = port &* 10 &+ Int(url[end] &- UInt8(ascii: "0"))
        end &+= 1
      }
      guard end > digits, port <= 65_535 else { return nil }
    }
    guard start > 0, !host.isEmpty, end == url.count || url[end] == .slash else { return nil }
    return Position(hostAndPort: start..<end, host: host, port: port, isPlain: true)
  }

  /// What stands between `://` and the path, the query, the fragment or the end.
  static func range(in url: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
    // A later colon is not the scheme's.
    guard let colon = url.firstIndex(where: { $0 == .colon || $0.endsAuthority }), colon + 2 < url.count,
      url[colon] == .colon, url[colon + 1] == .slash, url[colon + 2] == .slash
    else { return nil }
    let start = colon + 3
    return start..<(url[start...].firstIndex(where: \.endsAuthority) ?? url.count)
  }

  /// Whether the authority certainly ends there. The `@` of `postgres://user:1/2@host` is that of the
  /// userinfo, whose password should have been encoded; that of `https://host/@name` is not, since clients of
  /// HTTP go by RFC 3986.
  private static func isEnd(_ end: Int, of url: UnsafeBufferPointer<UInt8>, _ scheme: Bytes) -> Bool {
    if end < url.count, url[end] == .slash, defaultPort(of: scheme) != nil { return true }
    return !url[end...].contains(.at)
  }

  /// An IPv6 address, and perhaps a zone (RFC 6874).
  private static func isIPLiteral(_ text: Bytes) -> Bool {
    let address = text.prefix { $0.hexadecimalValue != nil || $0 == .colon || $0 == .dot }
    let zone = text[address.endIndex...]
    return address.count { $0 == .colon } > 1
      && (zone.isEmpty || zone.first == .percent && isName(zone.dropFirst(3)))
  }

  /// Whether nothing in it can be a delimiter of a URL, also if it is decoded or normalised.
  private static func isName(_ text: Bytes) -> Bool {
    var remaining = text
    while let byte = remaining.popFirst() {
      if byte == .percent {
        guard let value = PercentEncoding.escape(remaining.prefix(2)), value.isUnreserved else {
          return false
        }
        remaining = remaining.dropFirst(2)
      } else if byte < 0x80, !byte.isUnreserved {
        return false
      }
    }
    return isInternationalName(String(decoding: text, as: UTF8.self))
  }

  /// Letters, digits and marks of any script, of which a mark is not the first: it would belong to what
  /// stands before.
  private static func isInternationalName(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { $0.isASCII || $0.properties.isIDContinue }
      && text.unicodeScalars.first.map { $0.isASCII || $0.properties.isIDStart } == true
  }

  /// What stands between the authority, if there is one, and the query or fragment (RFC 3986, section 3).
  static func path(in url: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    let start = find(in: url)?.hostAndPort.upperBound ?? range(in: url)?.upperBound ?? 0
    return UnsafeBufferPointer(
      rebasing: url[start...].prefix { $0 != .question && $0 != .hash })
  }

  private static func number(_ digits: Bytes) -> Int? {
    guard digits.count <= 8 else { return nil }
    var number = 0
    for digit in digits {
      guard digit.isASCIIDigit else { return nil }
      number = number * 10 + Int(digit - UInt8(ascii: "0"))
    }
    return number <= 65_535 ? number : nil
  }

  private static func defaultPort(of scheme: Bytes) -> Int? {
    guard scheme.count == 4 || scheme.count == 5 else { return nil }
    // In lowercase, as one number.
    switch scheme.reduce(0, { $0 << 8 | UInt64($1 | 0x20) }) {
    case 0x6874_7470: return 80  // http
    case 0x68_7474_7073: return 443  // https
    default: return nil
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  @inline(__always)
  fileprivate func starts(with text: StaticString) -> Bool {
    count >= text.utf8CodeUnitCount
      && (0..<text.utf8CodeUnitCount).allSatisfy { self[$0] == text.utf8Start[$0] }
  }
}

extension UInt8 {
  fileprivate static let openBracket = UInt8(ascii: "[")
  fileprivate static let closeBracket = UInt8(ascii: "]")

  fileprivate var endsAuthority: Bool { self == .slash || self == .question || self == .hash }
}
