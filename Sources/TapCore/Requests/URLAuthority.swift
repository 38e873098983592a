/// The host and the port of a URL, read from its text (RFC 3986, section 3.2).
///
/// Nearly all hosts are names of letters, digits, dots and hyphens. To read such a plain one takes a quarter of the instructions of
/// Foundation's `URL.host`, `URL.port` and `URL.scheme`.
package struct URLAuthority {
  package let host: String
  /// The port that is written, or the default of the scheme; `nil` if it has none.
  package let port: Int?

  /// Reads any URL with a host, which is given without brackets and without userinfo. `nil` if there is none.
  package init?(_ url: String) {
    if let plain = URLAuthority(plain: url) {
      self = plain
      return
    }
    guard let schemeEnd = url.utf8.firstIndex(of: Self.colon), url[schemeEnd...].hasPrefix("://") else {
      return nil
    }
    var authority = url[schemeEnd...].dropFirst(3).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    if let userinfoEnd = authority.lastIndex(of: "@") { authority = authority[userinfoEnd...].dropFirst() }
    var port: Substring = ""
    if authority.first == "[" {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      port = authority[end...].dropFirst(2)
      authority = authority[..<end].dropFirst()
    } else if let colon = authority.lastIndex(of: ":") {
      port = authority[colon...].dropFirst()
      authority = authority[..<colon]
    }
    guard !authority.isEmpty else { return nil }
    host = String(authority)
    self.port =
      Int(port).flatMap { (0...65_535).contains($0) ? $0 : nil }
      ?? ["http": 80, "https": 443][url[..<schemeEnd].lowercased()]
  }

  /// Reads an http or https URL whose host is plain, as Foundation reads it. `nil` if that takes more knowledge: of userinfo, of an
  /// address in brackets, of percent-encoding or of an internationalised name.
  package init?(plain url: String) {
    var url = url
    let found = url.withUTF8 { bytes in
      Self.parse(bytes).flatMap { host, port in
        let host = UnsafeBufferPointer(rebasing: bytes[host])
        return Self.isInternationalised(host) ? nil : (String(decoding: host, as: UTF8.self), port)
      }
    }
    guard let found else { return nil }
    (host, port) = found
  }

  /// The port of a plain one alone.
  package static func port(ofPlain url: String) -> Int? {
    var url = url
    return url.withUTF8 { parse($0)?.port }
  }

  /// Whether the text of a URL begins with the scheme http or https, in lowercase as the native loaders want it.
  package static func isHTTP(_ url: String) -> Bool {
    var url = url
    return url.withUTF8 { schemeEnd(of: $0) != nil }
  }

  /// RFC 3986, section 3.2: a host ends before a colon with the port, a slash, a question mark, a number sign, or the
  /// text's end.
  private static func parse(_ url: UnsafeBufferPointer<UInt8>) -> (host: Range<Int>, port: Int)? {
    guard let colon = schemeEnd(of: url), colon + 3 < url.count, url[colon + 1] == slash,
      url[colon + 2] == slash
    else { return nil }
    let start = colon + 3
    var end = start
    while end < url.count, isPlain(url[end]) { end += 1 }
    let host = start..<end
    guard !host.isEmpty else { return nil }
    var port: Int? = colon == 4 ? 80 : 443
    if end < url.count, url[end] == Self.colon {
      port = number(in: url, at: &end)
    }
    guard let port, end == url.count || endsAuthority(url[end]) else { return nil }
    return (host, port)
  }

  /// The place of the colon behind the scheme.
  private static func schemeEnd(of url: UnsafeBufferPointer<UInt8>) -> Int? {
    guard url.count > 4, url[0] == UInt8(ascii: "h"), url[1] == UInt8(ascii: "t"),
      url[2] == UInt8(ascii: "t"), url[3] == UInt8(ascii: "p")
    else { return nil }
    if url[4] == colon { return 4 }
    return url.count > 5 && url[4] == UInt8(ascii: "s") && url[5] == colon ? 5 : nil
  }

  /// The digits behind a colon, at most five of them; moves on to what follows.
  private static func number(in url: UnsafeBufferPointer<UInt8>, at place: inout Int) -> Int? {
    let first = place + 1
    var number = 0
    place = first
    while place < url.count, place - first < 5, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(url[place]) {
      number = number * 10 + Int(url[place] - UInt8(ascii: "0"))
      place += 1
    }
    return place > first && number <= 65_535 ? number : nil
  }

  /// A letter, a digit, a dot or a hyphen.
  @inline(__always)
  private static func isPlain(_ byte: UInt8) -> Bool {
    let set = byte < 64 ? lowerHalf : upperHalf
    return byte < 128 && set >> (byte & 63) & 1 == 1
  }

  /// A bit for each plain byte below 64: the digits, `-` and `.`.
  private static let lowerHalf: UInt64 = 0x03ff_6000_0000_0000
  /// A bit for each plain byte from 64 to 127: the letters of either case.
  private static let upperHalf: UInt64 = 0x07ff_fffe_07ff_fffe

  /// Whether the host may hold a label such as `xn--p1ai`, which stands for other characters and has two hyphens in its
  /// third and fourth place (RFC 5890, section 2.3.1). Two hyphens count wherever they stand behind two characters, to be
  /// safe.
  private static func isInternationalised(_ host: UnsafeBufferPointer<UInt8>) -> Bool {
    guard host.count >= 4 else { return false }
    return (0...host.count - 4).contains { host[$0 + 2] == hyphen && host[$0 + 3] == hyphen }
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == slash || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }

  private static let slash = UInt8(ascii: "/")
  private static let colon = UInt8(ascii: ":")
  private static let hyphen = UInt8(ascii: "-")
}
