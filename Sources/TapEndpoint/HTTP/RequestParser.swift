import TapCore

/// An incremental parser of HTTP/1.1 requests (RFC 9112): bytes in, requests and failures out.
///
/// It takes a head line by line, so that what comes out does not depend on how the bytes were split. It holds no more
/// than one head and one body, both bounded, and no socket or clock.
package struct RequestParser: Sendable {
  /// Why bytes are not a request that this server accepts, and the status of the response. The connection is closed
  /// after it, because the start of the next request is unknown.
  package struct Failure: Error, Sendable, Hashable {
    package let status: EndpointStatus
    /// One clause for the answer's body.
    package let reason: String

    init(_ status: EndpointStatus, _ reason: String) { (self.status, self.reason) = (status, reason) }

    /// A violation of the grammar or the framing: 400 (RFC 9112, section 2.2).
    static func malformed(_ reason: String) -> Failure { Failure(.badRequest, reason) }
  }

  private let limits: Endpoint.Configuration.Limits
  private var headBytes = 0
  /// The begin of a line whose end has not arrived.
  private var line: [UInt8] = []
  /// The request so far, and whether its first line has come. Not an optional: to compare it with `nil` copies it.
  private var request = EndpointRequest(path: "")
  private var hasLine = false
  /// The length of the body when the head is complete.
  private var bodyLength: Int?
  private var hasFailed = false

  package init(limits: Endpoint.Configuration.Limits) {
    self.limits = limits
  }

  /// Whether no byte of a request has been seen since the last one was complete.
  package var isIdle: Bool { headBytes == 0 }

  /// Whether the head is complete and the body is not.
  package var isInBody: Bool { bodyLength != nil }

  /// Takes bytes from the front of the input up to the end of a request, or to a failure, behind which nothing can follow. `nil`
  /// means that all were taken and more are needed.
  package mutating func next(from input: inout ArraySlice<UInt8>) -> Result<EndpointRequest, Failure>? {
    do throws(Failure) {
      guard !hasFailed, let request = try parse(&input) else {
        input = []
        return nil
      }
      self = RequestParser(limits: limits)
      return .success(request)
    } catch {
      self = RequestParser(limits: limits)
      hasFailed = true
      input = []
      return .failure(error)
    }
  }

  private mutating func parse(_ input: inout ArraySlice<UInt8>) throws(Failure) -> EndpointRequest? {
    while bodyLength == nil {
      guard let line = try nextLine(&input) else { return nil }
      if hasLine {
        if line.isEmpty { bodyLength = try request.endHead(limits) } else { try request.add(line, limits) }
      } else if !line.isEmpty {
        // Section 2.2: "SHOULD ignore at least one empty line (CRLF) received prior to the request-line".
        request = try EndpointRequest(line: line)
        hasLine = true
      }
    }
    let part = input.prefix((bodyLength ?? 0) - request.body.count)
    request.body.append(contentsOf: part)
    input = input.dropFirst(part.count)
    return request.body.count == bodyLength ? request : nil
  }

  /// The next line of the head without its end; `nil` if more bytes are needed.
  private mutating func nextLine(_ input: inout ArraySlice<UInt8>) throws(Failure) -> ArraySlice<UInt8>? {
    // No line need follow what is not HTTP, such as the first bytes of TLS.
    if line.isEmpty, !hasLine, let first = input.first, first != ByteClass.carriageReturn,
      !ByteClass.isToken(first)
    {
      throw .malformed("the request does not begin with a method")
    }
    let end = input.firstIndex(of: ByteClass.lineFeed)
    let part = input[..<(end ?? input.endIndex)]
    input = input[part.endIndex...].dropFirst()
    headBytes += part.count + (end == nil ? 0 : 1)
    // RFC 9110, section 5.4: fields that are too large must not be processed.
    guard headBytes <= limits.headBytes else {
      // Section 3: "longer than any URI it wishes to parse MUST respond with 414".
      throw hasLine
        ? Failure(431, "a head of more than \(limits.headBytes) bytes")
        : Failure(414, "a request line of more than \(limits.headBytes) bytes")
    }
    var whole = part
    // The usual line, which comes in one part, is not copied.
    if end == nil || !line.isEmpty {
      line.append(contentsOf: part)
      whole = line[...]
    }
    guard end != nil else { return nil }
    line = []
    // Section 2.2: "a recipient MAY recognize a single LF as a line terminator". This one does not: what others take for
    // two lines must not be one here, nor the reverse.
    guard whole.last == ByteClass.carriageReturn else { throw .malformed("a line does not end in CRLF") }
    return whole.dropLast()
  }
}

/// The head of a request, line by line, and the rules that hold between its parts (RFC 9112).
extension EndpointRequest {
  /// Section 3: `method SP request-target SP HTTP-version`, with single spaces.
  init(line: ArraySlice<UInt8>) throws(RequestParser.Failure) {
    let parts = line.split(separator: ByteClass.space, maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(ByteClass.isToken), !parts[1].isEmpty
    else { throw .malformed("the first line is no request line") }
    // "a method longer than any it implements SHOULD respond with 501".
    guard parts[0].count <= 32 else { throw .init(.notImplemented, "a method of more than 32 bytes") }
    // Section 2.3: `HTTP/` DIGIT `.` DIGIT, in upper case.
    let version = Array(parts[2])
    guard version.count == 8, version.starts(with: "HTTP/".utf8), version[6] == UInt8(ascii: "."),
      version[5].isASCIIDigit, version[7].isASCIIDigit
    else { throw .malformed("invalid HTTP version") }
    guard version[5] == UInt8(ascii: "1") else {
      throw .init(505, "this server speaks HTTP/1.1")
    }
    self.init(method: EndpointMethod(rawValue: String(decoding: parts[0], as: UTF8.self)), path: "")
    try setTarget(parts[1])
    // RFC 9110, section 2.5: a higher minor version is treated as the highest that one implements.
    minorVersion = version[7] == UInt8(ascii: "0") ? 0 : 1
  }

  /// Section 3.2: the target, taken apart and checked.
  private mutating func setTarget(_ bytes: ArraySlice<UInt8>) throws(RequestParser.Failure) {
    target = String(decoding: bytes, as: UTF8.self)
    // Section 3.2.4: the asterisk form is for OPTIONS alone.
    if method == .options, target == "*" {
      path = target
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

  /// Section 5: `field-name ":" OWS field-value OWS`.
  mutating func add(
    _ line: ArraySlice<UInt8>, _ limits: Endpoint.Configuration.Limits
  ) throws(RequestParser.Failure) {
    // White space before the first field (section 2.2), before a colon (5.1) or of a folded line (5.2) is in no name.
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

  /// - Returns: the length of the body.
  mutating func endHead(_ limits: Endpoint.Configuration.Limits) throws(RequestParser.Failure) -> Int {
    // Section 3.2: 400 to any HTTP/1.1 request without a Host, and to any request with more than one or with an invalid one.
    // An http URL with an empty host is invalid too (RFC 9110, section 4.2.1).
    let hosts = headers.values(of: "Host")
    guard hosts.count == 1 || hosts.isEmpty && minorVersion == 0,
      hosts.allSatisfy({ Self.isAuthority(Array($0.utf8)[...]) })
    else { throw .malformed("no Host field, more than one, or an invalid one") }
    // Section 3.3: an absolute target's authority replaces the Host field.
    authority = authority ?? hosts.first
    let bodyLength = try bodyLength()
    guard bodyLength <= limits.bodyBytes else {
      throw .init(.contentTooLarge, "a body of more than \(limits.bodyBytes) bytes")
    }
    // RFC 9110, section 10.1.1: either a 100 or a final status must follow, and one in HTTP/1.0 must be ignored. A client
    // "SHOULD repeat that request without a 100-continue expectation" after a 417 (section 15.5.18).
    if minorVersion > 0, headers["Expect"] != nil {
      throw .init(417, "send the body at once")
    }
    // Section 9.3: HTTP/1.1 persists unless it says `close`, HTTP/1.0 only if it says `keep-alive`.
    let options = (headers.combined("Connection") ?? "").utf8.split(separator: UInt8(ascii: ",")).map {
      String(Substring($0.trimmingBlanks))
    }
    keepsAlive =
      !options.contains { $0.isEqualIgnoringASCIICase(to: "close") }
      && (minorVersion > 0 || options.contains { $0.isEqualIgnoringASCIICase(to: "keep-alive") })
    return bodyLength
  }

  /// Section 6.3. Anything ambiguous is refused, because it allows request smuggling (section 11.2).
  private func bodyLength() throws(RequestParser.Failure) -> Int {
    let lengths = headers.values(of: "Content-Length")
    if let codings = headers.combined("Transfer-Encoding") {
      // Beside a Content-Length it "ought to be handled as an error", in HTTP/1.0 "the framing is faulty" (section 6.1), and
      // where chunked is not the last coding, the answer must be 400.
      let last = codings.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).last
      guard lengths.isEmpty, minorVersion > 0, let last,
        String(Substring(last.trimmingBlanks)).isEqualIgnoringASCIICase(to: "chunked")
      else { throw .malformed("Transfer-Encoding that frames no body") }
      // "A server MAY reject a request that contains a message body but not a Content-Length".
      throw .init(411, "a body needs a Content-Length")
    }
    guard let length = lengths.first else { return 0 }
    // Item 5: an invalid value, or more than one, is an unrecoverable error. The exception for a list of equal numbers is
    // optional, and not made here.
    guard lengths.count == 1, !length.isEmpty, length.utf8.allSatisfy(\.isASCIIDigit) else {
      throw .malformed("more than one Content-Length, or an invalid one")
    }
    // RFC 9110, section 8.6: "anticipate potentially large decimal numerals".
    return Int(length) ?? .max
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
  private static func isAuthority(_ bytes: ArraySlice<UInt8>) -> Bool {
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
    return colon == UInt8(ascii: ":") && rest.allSatisfy(\.isASCIIDigit)
      && (rest.isEmpty || UInt16(port) != nil)
  }
}

/// The classes of bytes in the grammars of HTTP and of URIs.
package enum ByteClass {
  static let tab = UInt8(ascii: "\t")
  static let lineFeed = UInt8(ascii: "\n")
  static let carriageReturn = UInt8(ascii: "\r")
  static let space = UInt8(ascii: " ")

  /// `tchar` (RFC 9110, section 5.6.2), the bytes of methods and field names: `unreserved` and more.
  static func isToken(_ byte: UInt8) -> Bool { isUnreserved(byte) || "!#$%&'*+^`|".utf8.contains(byte) }

  /// `field-vchar`, SP and HTAB (RFC 9110, section 5.5): all that a field value may hold. The other control
  /// characters are refused, which the section leaves open but for CR, LF and NUL.
  static func isFieldValue(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == tab }

  /// `unreserved` (RFC 3986, section 2.3).
  package static func isUnreserved(_ byte: UInt8) -> Bool {
    byte.isASCIILetter || byte.isASCIIDigit || "-._~".utf8.contains(byte)
  }

  /// What a registered name may hold beside escapes: `unreserved` and `sub-delims` (RFC 3986, section 3.2.2).
  static func isRegisteredName(_ byte: UInt8) -> Bool {
    isUnreserved(byte) || "!$&'()*+,;=".utf8.contains(byte)
  }

  /// What a path may hold beside escapes: `pchar` and `/` (RFC 3986, section 3.3).
  static func isPath(_ byte: UInt8) -> Bool { isRegisteredName(byte) || "/:@".utf8.contains(byte) }

  /// What a query may hold beside escapes. RFC 3986, section 3.4, has `pchar`, `/` and `?`; but browsers and
  /// curl send more as it is (WHATWG URL, "query percent-encode set"), and `name[]=up` is such a query.
  static func isQuery(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F && !"\"<>#".utf8.contains(byte) }
}

extension BidirectionalCollection<UInt8> {
  /// Without the spaces and tabs around it (RFC 9110, section 5.6.3).
  var trimmingBlanks: SubSequence {
    let isVisible = { (byte: UInt8) in byte != ByteClass.space && byte != ByteClass.tab }
    guard let first = firstIndex(where: isVisible), let last = lastIndex(where: isVisible) else {
      return self[endIndex...]
    }
    return self[first...last]
  }
}
