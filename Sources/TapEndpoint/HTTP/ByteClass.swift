import TapCore

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
