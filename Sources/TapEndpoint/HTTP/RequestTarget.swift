import TapCore

/// The request target (RFC 9112, section 3.2), taken apart and checked.
struct RequestTarget {
  /// The authority of the absolute or the authority form.
  var authority: String?
  /// The normalised path; `*` for the asterisk form, empty for the authority form.
  var path: String
  /// The query, still encoded.
  var query: String?

  /// Takes the target of a request apart. The bytes are not empty.
  init(_ bytes: ArraySlice<UInt8>, method: EndpointMethod) throws(RequestFailure) {
    if method == .connect {
      // Section 3.2.3: CONNECT has the authority form, and nothing else has it.
      guard Authority.isValid(bytes), bytes.contains(UInt8(ascii: ":")) else {
        throw .malformed("the target of CONNECT is not host:port")
      }
      authority = String(decoding: bytes, as: UTF8.self)
      path = ""
    } else if bytes.first == UInt8(ascii: "/") {
      (path, query) = try Self.pathAndQuery(bytes)
    } else if bytes.count == 1, bytes.first == UInt8(ascii: "*") {
      // Section 3.2.4: the asterisk form is for OPTIONS alone.
      guard method == .options else { throw .malformed("the target * is for OPTIONS alone") }
      path = "*"
    } else {
      // Section 3.2.2: a server must accept the absolute form, though only proxies are sent it.
      let rest = try Self.afterScheme(bytes)
      let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
      guard Authority.isValid(rest[..<end]) else { throw .malformed("invalid authority in the target") }
      authority = String(decoding: rest[..<end], as: UTF8.self)
      (path, query) = try Self.pathAndQuery(rest[end...])
      // RFC 9110, section 4.2.3: an empty path is the same as "/".
      if path.isEmpty { path = "/" }
    }
  }

  /// What follows `http://` or `https://`, whose case does not count (RFC 3986, section 3.1).
  private static func afterScheme(_ bytes: ArraySlice<UInt8>) throws(RequestFailure) -> ArraySlice<UInt8> {
    for scheme in ["http://", "https://"] where bytes.count >= scheme.utf8.count {
      if zip(bytes, scheme.utf8).allSatisfy({ $0.asciiLowercased == $1 }) {
        return bytes.dropFirst(scheme.utf8.count)
      }
    }
    throw .malformed("the target is neither a path nor an http URL")
  }

  /// Section 3.2.1: `absolute-path [ "?" query ]`. There is no fragment on the wire.
  private static func pathAndQuery(
    _ bytes: ArraySlice<UInt8>
  ) throws(RequestFailure) -> (path: String, query: String?) {
    let mark = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
    let path = bytes[..<mark]
    let query = bytes[mark...].dropFirst()
    guard isValid(path, allowing: ByteClass.isPath) else { throw .malformed("invalid byte in the path") }
    guard isValid(query, allowing: ByteClass.isQuery) else { throw .malformed("invalid byte in the query") }
    return (
      PercentEncoding.normalized(path),
      mark == bytes.endIndex ? nil : String(decoding: query, as: UTF8.self)
    )
  }

  /// Whether every byte is of the class or part of an escape (RFC 3986, section 2.1). An escaped NUL is
  /// refused: it has no legitimate use and ends a string in C.
  private static func isValid(_ bytes: ArraySlice<UInt8>, allowing isAllowed: (UInt8) -> Bool) -> Bool {
    var rest = bytes
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard let high = rest.popFirst().flatMap(ByteClass.hexadecimalValue),
          let low = rest.popFirst().flatMap(ByteClass.hexadecimalValue), high | low != 0
        else { return false }
      } else if !isAllowed(byte) {
        return false
      }
    }
    return true
  }
}

/// The authority of an http URL: `uri-host [ ":" port ]`, without userinfo (RFC 9110, sections 4.2.1, 4.2.4
/// and 7.2).
enum Authority {
  /// Whether the bytes are a host, which must not be empty, and perhaps a port.
  static func isValid(_ bytes: ArraySlice<UInt8>) -> Bool {
    if bytes.first == UInt8(ascii: "[") {
      guard let end = bytes.firstIndex(of: UInt8(ascii: "]")) else { return false }
      let address = bytes[..<end].dropFirst()
      return !address.isEmpty && address.allSatisfy(isAddressLiteral)
        && isPortSuffix(bytes[end...].dropFirst())
    }
    let end = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
    return end > bytes.startIndex && isRegisteredName(bytes[..<end]) && isPortSuffix(bytes[end...])
  }

  /// The bytes of an IPv6address or an IPvFuture (RFC 3986, section 3.2.2), or of a zone (RFC 6874). Which
  /// addresses exist does not matter here.
  private static func isAddressLiteral(_ byte: UInt8) -> Bool {
    ByteClass.isUnreserved(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "%")
  }

  /// `reg-name` (RFC 3986, section 3.2.2); an IPv4 address is one as well.
  private static func isRegisteredName(_ bytes: ArraySlice<UInt8>) -> Bool {
    var rest = bytes
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard rest.popFirst().flatMap(ByteClass.hexadecimalValue) != nil,
          rest.popFirst().flatMap(ByteClass.hexadecimalValue) != nil
        else { return false }
      } else if !ByteClass.isUnreserved(byte) && !ByteClass.isSubDelimiter(byte) {
        return false
      }
    }
    return true
  }

  /// Nothing, or a colon and a port (RFC 3986, section 3.2.3: the port may be empty).
  private static func isPortSuffix(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard let colon = bytes.first else { return true }
    var port = 0
    for byte in bytes.dropFirst() {
      guard let digit = ByteClass.decimalValue(byte) else { return false }
      port = port * 10 + Int(digit)
      guard port <= 65535 else { return false }
    }
    return colon == UInt8(ascii: ":")
  }
}
