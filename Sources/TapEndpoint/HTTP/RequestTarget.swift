import TapCore

/// The request target (RFC 9112, section 3.2), taken apart and checked.
struct RequestTarget {
  /// The authority of the absolute form.
  private(set) var authority: String?
  /// The normalised path; `*` for the asterisk form.
  let path: String
  /// The query, still encoded.
  let query: String?

  /// Takes the target of a request apart.
  init(_ bytes: ArraySlice<UInt8>, method: EndpointMethod) throws(RequestParser.Failure) {
    // Section 3.2.4: the asterisk form is for OPTIONS alone.
    if method == .options, bytes.elementsEqual("*".utf8) {
      (path, query) = ("*", nil)
      return
    }
    var rest = bytes
    if bytes.first != UInt8(ascii: "/") {
      // Section 3.2.2: a server must accept the absolute form, though only proxies are sent it.
      let scheme = ["http://", "https://"].first { scheme in
        bytes.prefix(scheme.utf8.count).map(\.asciiLowercased).elementsEqual(scheme.utf8)
      }
      guard let scheme else { throw .malformed("the target is neither a path nor an http URL") }
      rest = bytes.dropFirst(scheme.utf8.count)
      let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
      guard Self.isAuthority(authority) else { throw .malformed("invalid authority in the target") }
      self.authority = String(decoding: authority, as: UTF8.self)
      rest = rest.dropFirst(authority.count)
    }
    // Section 3.2.1: `absolute-path [ "?" query ]`. There is no fragment on the wire.
    let mark = rest.firstIndex(of: UInt8(ascii: "?"))
    guard let path = Self.normalized(rest[..<(mark ?? rest.endIndex)], allowing: ByteClass.isPath) else {
      throw .malformed("invalid byte in the path")
    }
    // RFC 9110, section 4.2.3: an empty path is the same as "/".
    self.path = path.isEmpty ? "/" : path
    query = mark.flatMap { Self.normalized(rest[$0...].dropFirst(), allowing: ByteClass.isQuery) }
    if mark != nil, query == nil { throw .malformed("invalid byte in the query") }
  }

  /// Normalises escapes (RFC 3986, sections 6.2.2.1 and 6.2.2.2): an escaped unreserved character is decoded, the digits of
  /// all others are put in upper case. `nil` if a byte is neither of the class nor part of an escape. An escaped NUL is
  /// refused: it has no legitimate use and ends a string in C.
  private static func normalized(
    _ bytes: ArraySlice<UInt8>, allowing isAllowed: (UInt8) -> Bool
  ) -> String? {
    var normalized: [UInt8] = []
    normalized.reserveCapacity(bytes.count)
    var rest = bytes
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        guard isAllowed(byte) else { return nil }
        normalized.append(byte)
        continue
      }
      let digits = rest.prefix(2)
      guard let value = PercentEncoding.escape(digits), value != 0 else { return nil }
      rest = rest.dropFirst(2)
      if ByteClass.isUnreserved(value) {
        normalized.append(value)
      } else {
        normalized.append(byte)
        normalized.append(contentsOf: digits.map { $0 >= UInt8(ascii: "a") ? $0 & 0xDF : $0 })
      }
    }
    return String(decoding: normalized, as: UTF8.self)
  }

  /// Whether the bytes are the authority of an http URL: `uri-host [ ":" port ]`, whose host must not be empty, without
  /// userinfo (RFC 9110, sections 4.2.1, 4.2.4 and 7.2). Which addresses exist does not matter here.
  static func isAuthority(_ bytes: ArraySlice<UInt8>) -> Bool {
    var rest = bytes
    if rest.first == UInt8(ascii: "[") {
      // RFC 3986, section 3.2.2: an IPv6address, or an IPvFuture; a zone (RFC 6874).
      let address = rest.dropFirst().prefix {
        ByteClass.isUnreserved($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "%")
      }
      rest = rest.dropFirst(1 + address.count)
      guard !address.isEmpty, rest.popFirst() == UInt8(ascii: "]") else { return false }
    } else {
      let name = rest.prefix { $0 != UInt8(ascii: ":") }
      rest = rest.dropFirst(name.count)
      guard !name.isEmpty, normalized(name, allowing: ByteClass.isRegisteredName) != nil else { return false }
    }
    // RFC 3986, section 3.2.3: the port may be empty.
    guard let colon = rest.popFirst() else { return true }
    let port = String(decoding: rest, as: UTF8.self)
    return colon == UInt8(ascii: ":") && rest.allSatisfy(ByteClass.isDigit)
      && (rest.isEmpty || UInt16(port) != nil)
  }
}
