/// The head of a request, line by line, and the rules that hold between its parts (RFC 9112).
struct RequestHead {
  private let method: EndpointMethod
  private let target: [UInt8]
  private let minorVersion: Int
  private var headers = EndpointHeaders()

  /// Section 3: `method SP request-target SP HTTP-version`, with single spaces.
  init(requestLine line: ArraySlice<UInt8>) throws(RequestParser.Failure) {
    let parts = line.split(separator: ByteClass.space, maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(ByteClass.isToken), !parts[1].isEmpty
    else {
      throw .malformed("the first line is no request line")
    }
    // "a method longer than any it implements SHOULD respond with 501".
    guard parts[0].count <= 32 else {
      throw .init(.notImplemented, "a method of more than 32 bytes")
    }
    method = EndpointMethod(rawValue: String(decoding: parts[0], as: UTF8.self))
    target = Array(parts[1])
    minorVersion = try Self.minorVersion(Array(parts[2]))
  }

  /// Section 2.3: `HTTP/` DIGIT `.` DIGIT, in upper case.
  private static func minorVersion(_ version: [UInt8]) throws(RequestParser.Failure) -> Int {
    guard version.count == 8, version.starts(with: "HTTP/".utf8), version[6] == UInt8(ascii: "."),
      ByteClass.isDigit(version[5]), ByteClass.isDigit(version[7])
    else { throw .malformed("invalid HTTP version") }
    guard version[5] == UInt8(ascii: "1") else {
      throw .init(.httpVersionNotSupported, "this server speaks HTTP/1.1")
    }
    // RFC 9110, section 2.5: a higher minor version is treated as the highest that one implements.
    return version[7] == UInt8(ascii: "0") ? 0 : 1
  }

  /// Section 5: `field-name ":" OWS field-value OWS`.
  mutating func add(
    _ line: ArraySlice<UInt8>, _ limits: Endpoint.Configuration.Limits
  ) throws(RequestParser.Failure) {
    // White space before the first field (section 2.2), before a colon (5.1) or of a folded line (5.2) is in no name.
    let name = line.prefix { $0 != UInt8(ascii: ":") }
    guard !name.isEmpty, name.count < line.count, name.allSatisfy(ByteClass.isToken) else {
      throw .malformed("a field without a valid name")
    }
    let value = line.dropFirst(name.count + 1).trimmingBlanks
    guard value.allSatisfy(ByteClass.isFieldValue) else { throw .malformed("invalid byte in a field value") }
    guard headers.fields.count < limits.headerCount else {
      throw .init(.requestHeaderFieldsTooLarge, "more than \(limits.headerCount) header fields")
    }
    // Bytes outside of ASCII are read as UTF-8, with a replacement character for invalid ones.
    headers.add(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
  }

  /// The request without its body, and the length of that.
  func request(
    _ limits: Endpoint.Configuration.Limits
  ) throws(RequestParser.Failure) -> (EndpointRequest, bodyLength: Int) {
    let target = try RequestTarget(self.target[...], method: method)
    let host = try host()
    let bodyLength = try bodyLength()
    guard bodyLength <= limits.bodyBytes else {
      throw .init(.contentTooLarge, "a body of more than \(limits.bodyBytes) bytes")
    }
    // RFC 9110, section 10.1.1: either a 100 or a final status must follow, and one in HTTP/1.0 must be ignored. A client
    // "SHOULD repeat that request without a 100-continue expectation" after a 417 (section 15.5.18).
    if minorVersion > 0, headers["Expect"] != nil {
      throw .init(.expectationFailed, "send the body at once")
    }
    var request = EndpointRequest(method: method, path: target.path, query: target.query, headers: headers)
    request.target = String(decoding: self.target, as: UTF8.self)
    // Section 3.3: an absolute target's authority replaces the Host field.
    request.authority = target.authority ?? host
    request.minorVersion = minorVersion
    request.keepsAlive = keepsAlive
    return (request, bodyLength)
  }

  /// Section 3.2: 400 to any HTTP/1.1 request without a Host, and to any request with more than one or with
  /// an invalid one. An http URL with an empty host is invalid too (RFC 9110, section 4.2.1).
  private func host() throws(RequestParser.Failure) -> String? {
    let hosts = headers.values(of: "Host")
    guard hosts.count == 1 || hosts.isEmpty && minorVersion == 0,
      hosts.allSatisfy({ RequestTarget.isAuthority(Array($0.utf8)[...]) })
    else { throw .malformed("no Host field, more than one, or an invalid one") }
    return hosts.first
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
      throw .init(.lengthRequired, "a body needs a Content-Length")
    }
    guard let length = lengths.first else { return 0 }
    // Item 5: an invalid value, or more than one, is an unrecoverable error. The exception for a list of equal numbers is
    // optional, and not made here.
    guard lengths.count == 1, !length.isEmpty, length.utf8.allSatisfy(ByteClass.isDigit) else {
      throw .malformed("more than one Content-Length, or an invalid one")
    }
    // RFC 9110, section 8.6: "anticipate potentially large decimal numerals".
    return Int(length) ?? .max
  }

  /// Section 9.3: HTTP/1.1 persists unless it says `close`, HTTP/1.0 only if it says `keep-alive`.
  private var keepsAlive: Bool {
    let options = (headers.combined("Connection") ?? "").utf8.split(separator: UInt8(ascii: ",")).map {
      String(Substring($0.trimmingBlanks))
    }
    if options.contains(where: { $0.isEqualIgnoringASCIICase(to: "close") }) { return false }
    return minorVersion > 0 || options.contains { $0.isEqualIgnoringASCIICase(to: "keep-alive") }
  }
}
