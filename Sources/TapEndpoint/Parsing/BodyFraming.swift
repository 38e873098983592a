/// How the length of a request's body is told (RFC 9112, section 6.3).
enum BodyFraming: Equatable {
  /// There is a Content-Length, or neither field: then it is 0.
  case length(Int)
  /// The chunked transfer coding.
  case chunked

  /// Decides by the fields of a head. Whatever could be read in two ways is refused: it is how requests are
  /// smuggled (section 11.2).
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
  /// a list of equal numbers is one that a server may make; this one does not.
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
