/// The classes of bytes in the grammars of HTTP and of URIs.
enum ByteClass {
  static let tab = UInt8(ascii: "\t")
  static let lineFeed = UInt8(ascii: "\n")
  static let carriageReturn = UInt8(ascii: "\r")
  static let space = UInt8(ascii: " ")

  /// `tchar` (RFC 9110, section 5.6.2), the bytes of methods and field names.
  static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"),
      UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// `field-vchar`, SP and HTAB (RFC 9110, section 5.5): all that a field value may hold. The other control
  /// characters are refused, which the section leaves open but for CR, LF and NUL.
  static func isFieldValue(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte != 0x7F || byte == tab
  }

  /// `VCHAR` (RFC 5234, appendix B.1).
  static func isVisible(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F
  }

  /// `unreserved` (RFC 3986, section 2.3).
  static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// `sub-delims` (RFC 3986, section 2.2).
  static func isSubDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&")...UInt8(ascii: ","), UInt8(ascii: ";"),
      UInt8(ascii: "="):
      true
    default: false
    }
  }

  /// What a path may hold beside escapes: `pchar` and `/` (RFC 3986, section 3.3).
  static func isPath(_ byte: UInt8) -> Bool {
    isUnreserved(byte) || isSubDelimiter(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: ":")
      || byte == UInt8(ascii: "@")
  }

  /// What a query may hold beside escapes. RFC 3986, section 3.4, has `pchar`, `/` and `?`; but browsers and
  /// curl send more as it is (WHATWG URL, "query percent-encode set"), and `name[]=up` is such a query.
  static func isQuery(_ byte: UInt8) -> Bool {
    isVisible(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "<") && byte != UInt8(ascii: ">")
      && byte != UInt8(ascii: "#")
  }

  /// The value of a digit (RFC 5234, appendix B.1).
  static func decimalValue(_ byte: UInt8) -> UInt8? {
    let value = byte &- UInt8(ascii: "0")
    return value < 10 ? value : nil
  }

  /// The value of a hexadecimal digit in either case.
  static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
