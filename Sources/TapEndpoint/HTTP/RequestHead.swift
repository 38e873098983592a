/// The parts of a head as the parser finds them, and the rules that hold between them.
struct RequestHead {
  var method: EndpointMethod = .get
  var target: [UInt8] = []
  var headers = EndpointHeaders()
  private(set) var minorVersion = 1

  /// Section 2.3: `HTTP/` DIGIT `.` DIGIT, in upper case.
  mutating func setVersion(_ token: [UInt8]) throws(RequestFailure) {
    guard token.count == 8, token.starts(with: "HTTP/".utf8), token[6] == UInt8(ascii: "."),
      let major = ByteClass.decimalValue(token[5]), let minor = ByteClass.decimalValue(token[7])
    else { throw .malformed("invalid HTTP version") }
    guard major == 1 else {
      throw RequestFailure(status: .httpVersionNotSupported, reason: "this server speaks HTTP/1.1")
    }
    // RFC 9110, section 2.5: a higher minor version is treated as the highest that one implements.
    minorVersion = minor == 0 ? 0 : 1
  }

  /// Whether the client waits for a 100 (RFC 9110, section 10.1.1; one in HTTP/1.0 must be ignored).
  var expectsContinue: Bool { minorVersion > 0 && headers["Expect"] != nil }

  /// The request without its body, and how the body is framed.
  func request() throws(RequestFailure) -> (EndpointRequest, BodyFraming) {
    let target = try RequestTarget(self.target[...], method: method)
    let host = try host()
    let framing = try BodyFraming(headers, minorVersion: minorVersion)
    if minorVersion > 0, let expectation = headers["Expect"] {
      guard expectation.isEqualIgnoringASCIICase(to: "100-continue") else {
        throw RequestFailure(status: .expectationFailed, reason: "unknown expectation")
      }
    }
    var request = EndpointRequest(method: method, path: target.path, query: target.query, headers: headers)
    request.target = String(decoding: self.target, as: UTF8.self)
    // RFC 9112, section 3.2.2: an absolute target's authority replaces the Host field.
    request.authority = target.authority ?? host
    request.minorVersion = minorVersion
    request.keepsAlive = keepsAlive
    return (request, framing)
  }

  /// Section 3.2: 400 to any HTTP/1.1 request without a Host, and to any request with more than one or with
  /// an invalid one. An http URL with an empty host is invalid too (RFC 9110, section 4.2.1).
  private func host() throws(RequestFailure) -> String? {
    let hosts = headers.values(of: "Host")
    guard hosts.count <= 1 else { throw .malformed("more than one Host field") }
    guard let host = hosts.first else {
      guard minorVersion == 0 else { throw .malformed("no Host field") }
      return nil
    }
    guard Authority.isValid(Array(host.utf8)[...]) else { throw .malformed("invalid Host field") }
    return host
  }

  /// Section 9.3: HTTP/1.1 persists unless it says `close`, HTTP/1.0 only if it says `keep-alive`.
  private var keepsAlive: Bool {
    var keepsAlive = minorVersion > 0
    for value in headers.values(of: "Connection") {
      for option in value.utf8.split(separator: UInt8(ascii: ",")) {
        let name = String(Substring(option)).trimmingBlanks
        if name.isEqualIgnoringASCIICase(to: "close") { return false }
        if name.isEqualIgnoringASCIICase(to: "keep-alive") { keepsAlive = true }
      }
    }
    return keepsAlive
  }
}

extension String {
  /// Without the spaces and tabs around it.
  var trimmingBlanks: String {
    var text = self[...]
    while text.first == " " || text.first == "\t" { text.removeFirst() }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return String(text)
  }
}

/// The framing of a request's body (RFC 9112, section 6.3).
enum BodyFraming: Equatable {
  /// There is a Content-Length, or neither field: then it is 0.
  case length(Int)
  /// The chunked transfer coding.
  case chunked

  /// Decides by the fields of a head. Anything ambiguous is refused, because it allows request smuggling (section
  /// 11.2).
  init(_ headers: EndpointHeaders, minorVersion: Int) throws(RequestFailure) {
    let lengths = headers.values(of: "Content-Length")
    let codings = headers.values(of: "Transfer-Encoding")
    guard let coding = codings.first else {
      self = .length(try Self.contentLength(lengths))
      return
    }
    // Section 6.3, item 3: both "ought to be handled as an error".
    guard lengths.isEmpty else { throw .malformed("both Transfer-Encoding and Content-Length") }
    // Section 6.1: in HTTP/1.0 "the framing is faulty".
    guard minorVersion > 0 else { throw .malformed("Transfer-Encoding in HTTP/1.0") }
    // Section 7: chunked may be applied but once, and a list of one may stand in but one field line.
    guard codings.count == 1, !coding.isEmpty, !coding.contains(",") else {
      throw .malformed("Transfer-Encoding is not chunked alone")
    }
    // Section 6.1: "a coding it does not understand SHOULD respond with 501".
    guard coding.isEqualIgnoringASCIICase(to: "chunked") else {
      throw RequestFailure(status: .notImplemented, reason: "unknown Transfer-Encoding")
    }
    self = .chunked
  }

  /// Section 6.3, item 5: an invalid value, or more than one, is an unrecoverable error. The exception for
  /// a list of equal numbers is optional, and not made here.
  private static func contentLength(_ values: [String]) throws(RequestFailure) -> Int {
    guard let value = values.first else { return 0 }
    guard values.count == 1 else { throw .malformed("more than one Content-Length") }
    guard !value.isEmpty else { throw .malformed("empty Content-Length") }
    var length = 0
    for byte in value.utf8 {
      // RFC 9110, section 8.6: 1*DIGIT, "anticipate potentially large decimal numerals": no sign, no overflow.
      guard let digit = ByteClass.decimalValue(byte) else { throw .malformed("invalid Content-Length") }
      let (product, overflow) = length.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(Int(digit))
      length = overflow || carry ? .max : sum
      if length == .max { break }
    }
    guard length < .max || value.utf8.allSatisfy({ ByteClass.decimalValue($0) != nil }) else {
      throw .malformed("invalid Content-Length")
    }
    return length
  }
}
