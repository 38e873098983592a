import TapCore

/// The head of a request, line by line, and the rules that hold between its parts (RFC 9112).
extension EndpointRequest {
  /// Section 3: `method SP request-target SP HTTP-version`, with single spaces.
  init(line: ArraySlice<UInt8>) throws(RequestParser.Failure) {
    let method = line.prefix { $0 != .space }
    let rest = line[method.endIndex...].dropFirst()
    let target = rest.prefix { $0 != .space }
    guard !method.isEmpty, method.allSatisfy(ByteClass.isToken), !target.isEmpty else {
      throw .malformed("the first line is no request line")
    }
    // "a method longer than any it implements SHOULD respond with 501".
    guard method.count <= 32 else { throw .init(501, "a method of more than 32 bytes") }
    // Section 2.3: `HTTP/` DIGIT `.` DIGIT, in upper case.
    let version = Array(rest[target.endIndex...].dropFirst())
    guard version.count == 8, version.starts(with: "HTTP/".utf8), version[6] == UInt8(ascii: "."),
      version[5].isASCIIDigit, version[7].isASCIIDigit
    else { throw .malformed("invalid HTTP version") }
    guard version[5] == UInt8(ascii: "1") else { throw .init(505, "this server speaks HTTP/1.1") }
    self.init(method: String(decoding: method, as: UTF8.self), path: "")
    try setTarget(target)
    // RFC 9110, section 2.5: a higher minor version is treated as the highest that one implements.
    minorVersion = version[7] == UInt8(ascii: "0") ? 0 : 1
  }

  /// Section 3.2: the target, taken apart and checked.
  private mutating func setTarget(_ bytes: ArraySlice<UInt8>) throws(RequestParser.Failure) {
    // Section 3.2.4: the asterisk form is for OPTIONS alone.
    if method == "OPTIONS", bytes.elementsEqual("*".utf8) {
      path = "*"
      return
    }
    var rest = bytes
    if bytes.first != UInt8(ascii: "/") {
      // Section 3.2.2: a server must accept the absolute form, although clients send it only to proxies.
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
    let path = rest[..<(mark ?? rest.endIndex)]
    guard Self.isEncoded(path, allowing: ByteClass.isPath) else {
      throw .malformed("invalid byte in the path")
    }
    // RFC 9110, section 4.2.3: an empty path is the same as "/".
    self.path = path.isEmpty ? "/" : String(decoding: path, as: UTF8.self)
    guard let mark else { return }
    let query = rest[mark...].dropFirst()
    guard Self.isEncoded(query, allowing: ByteClass.isQuery) else {
      throw .malformed("invalid byte in the query")
    }
    self.query = String(decoding: query, as: UTF8.self)
  }

  /// Section 5: `field-name ":" OWS field-value OWS`.
  mutating func add(
    _ line: ArraySlice<UInt8>, _ limits: Endpoint.Configuration.Limits
  ) throws(RequestParser.Failure) {
    // White space before the first field (section 2.2), before a colon (5.1) or of a folded line (5.2) is in
    // no name.
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
      line[..<colon].allSatisfy(ByteClass.isToken)
    else { throw .malformed("a field without a valid name") }
    let value = line[colon...].dropFirst().trimmingBlanks
    guard value.allSatisfy(ByteClass.isFieldValue) else { throw .malformed("invalid byte in a field value") }
    guard headers.fields.count < limits.headerCount else {
      throw .init(431, "more than \(limits.headerCount) header fields")
    }
    // Bytes outside of ASCII are read as UTF-8, with a replacement character for invalid ones.
    headers.add(String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
  }

  mutating func endHead() throws(RequestParser.Failure) {
    // Section 3.2: 400 to any HTTP/1.1 request without a Host, and to any request with more than one or with
    // an invalid one. An http URL with an empty host is invalid too (RFC 9110, section 4.2.1).
    let hosts = headers.values(of: "Host")
    guard hosts.count == 1 || hosts.isEmpty && minorVersion == 0,
      hosts.allSatisfy({ Self.isAuthority(Array($0.utf8)[...]) })
    else { throw .malformed("no Host field, more than one, or an invalid one") }
    // Section 3.3: an absolute target's authority replaces the Host field.
    authority = authority ?? hosts.first
    try refuseBody()
    // Section 9.3: HTTP/1.1 persists unless it says `close`, HTTP/1.0 only if it says `keep-alive`.
    let connection = headers.values(of: "Connection")
    keepsAlive =
      !connection.contains { $0.hasElement("close") }
      && (minorVersion > 0 || connection.contains { $0.hasElement("keep-alive") })
  }

  /// Section 6.3. A request that announces a body in any way is refused, and the connection ends: nothing of
  /// a body can be taken for the next request (section 11.2).
  private func refuseBody() throws(RequestParser.Failure) {
    // Where chunked is not the last coding, the answer must be 400.
    if headers["Transfer-Encoding"] != nil { throw .malformed("a body, which no request here has") }
    // Item 5: an invalid value, or more than one, is an unrecoverable error.
    let lengths = headers.values(of: "Content-Length")
    guard lengths.count < 2, lengths.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isASCIIDigit) }) else {
      throw .malformed("more than one Content-Length, or an invalid one")
    }
    if lengths.contains(where: { $0.utf8.contains { $0 != UInt8(ascii: "0") } }) {
      throw .init(413, "a body, which no request here has")
    }
  }

  /// Whether each byte is allowed or part of an escape (RFC 3986, section 2.1). An escaped NUL is refused: it
  /// has no legitimate use and ends a string in C.
  private static func isEncoded(_ bytes: ArraySlice<UInt8>, allowing isAllowed: (UInt8) -> Bool) -> Bool {
    var rest = bytes
    while let byte = rest.popFirst() {
      if isAllowed(byte) { continue }
      guard byte == .percent, let value = PercentEncoding.escape(rest.prefix(2)), value != 0 else {
        return false
      }
      rest = rest.dropFirst(2)
    }
    return true
  }

  /// Whether the bytes are the authority of an http URL: `uri-host [ ":" port ]`, whose host must not be
  /// empty, without userinfo (RFC 9110, sections 4.2.1, 4.2.4 and 7.2). Which addresses exist does not matter
  /// here.
  private static func isAuthority(_ bytes: ArraySlice<UInt8>) -> Bool {
    var rest = bytes
    if rest.first == UInt8(ascii: "[") {
      // RFC 3986, section 3.2.2: an IPv6address, here with a zone too (RFC 6874). There is no IPvFuture yet.
      let literal = rest.prefix { $0 != UInt8(ascii: "]") }
      rest = rest.dropFirst(literal.count)
      guard rest.popFirst() == UInt8(ascii: "]"),
        HostText.parse(String(decoding: literal, as: UTF8.self) + "]") != nil
      else { return false }
    } else {
      let name = rest.prefix { $0 != UInt8(ascii: ":") }
      rest = rest.dropFirst(name.count)
      guard !name.isEmpty, isEncoded(name, allowing: ByteClass.isRegisteredName) else { return false }
    }
    // RFC 3986, section 3.2.3: the port may be empty.
    guard let colon = rest.popFirst() else { return true }
    let port = String(decoding: rest, as: UTF8.self)
    return colon == UInt8(ascii: ":") && rest.allSatisfy(\.isASCIIDigit)
      && (rest.isEmpty || UInt16(port) != nil)
  }
}

/// Classes of ASCII bytes in the grammars of HTTP and of URIs.
enum ByteClass {
  /// `tchar` (RFC 9110, section 5.6.2), the bytes of methods and field names: `unreserved` and more.
  static func isToken(_ byte: UInt8) -> Bool { byte.isUnreserved || "!#$%&'*+^`|".utf8.contains(byte) }

  /// What a registered name may hold beside escapes: `unreserved` and `sub-delims` (RFC 3986, section 3.2.2).
  static func isRegisteredName(_ byte: UInt8) -> Bool {
    byte.isUnreserved || "!$&'()*+,;=".utf8.contains(byte)
  }

  /// What a path may hold beside escapes: `pchar` and `/` (RFC 3986, section 3.3).
  static func isPath(_ byte: UInt8) -> Bool { isRegisteredName(byte) || "/:@".utf8.contains(byte) }

  /// What a query may hold beside escapes. RFC 3986, section 3.4, has `pchar`, `/` and `?`; but browsers and
  /// curl send more as it is (WHATWG URL, "query percent-encode set"), and `name[]=up` is such a query.
  static func isQuery(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && !"\"#%<>".utf8.contains(byte)
  }

  /// `field-vchar`, SP and HTAB (RFC 9110, section 5.5): all that a field value may hold. The other control
  /// characters are refused, which the section leaves open but for CR, LF and NUL.
  static func isFieldValue(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == .tab }
}
