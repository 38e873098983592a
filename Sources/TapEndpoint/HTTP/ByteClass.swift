import TapCore

/// A class of ASCII bytes in the grammars of HTTP and of URIs.
struct ByteClass: Sendable {
  /// `tchar` (RFC 9110, section 5.6.2), the bytes of methods and field names: `unreserved` and more.
  static let token = ByteClass { $0.isUnreserved || "!#$%&'*+^`|".utf8.contains($0) }
  /// What a registered name may hold beside escapes: `unreserved` and `sub-delims` (RFC 3986, section 3.2.2).
  static let registeredName = ByteClass { $0.isUnreserved || "!$&'()*+,;=".utf8.contains($0) }
  /// What a path may hold beside escapes: `pchar` and `/` (RFC 3986, section 3.3).
  static let path = ByteClass { registeredName.contains($0) || "/:@".utf8.contains($0) }
  /// What a query may hold beside escapes. RFC 3986, section 3.4, has `pchar`, `/` and `?`; but browsers and
  /// curl send more as it is (WHATWG URL, "query percent-encode set"), and `name[]=up` is such a query.
  static let query = ByteClass { $0 > 0x20 && $0 < 0x7F && !"\"#%<>".utf8.contains($0) }

  private let bits: (low: UInt64, high: UInt64)

  private init(_ isMember: (UInt8) -> Bool) {
    func word(_ first: UInt8) -> UInt64 {
      (0..<64).reduce(0) { $0 | (isMember(first + $1) ? 1 << UInt64($1) : 0) }
    }
    bits = (word(0), word(64))
  }

  func contains(_ byte: UInt8) -> Bool {
    byte < 128 && (byte < 64 ? bits.low : bits.high) & 1 << UInt64(byte & 63) != 0
  }

  /// `field-vchar`, SP and HTAB (RFC 9110, section 5.5): all that a field value may hold. The other control
  /// characters are refused, which the section leaves open but for CR, LF and NUL.
  static func isFieldValue(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == .tab }
}

extension UInt8 {
  /// The uppercase form of an ASCII letter, and any other byte itself.
  var asciiUppercased: UInt8 { self &- UInt8(ascii: "a") < 26 ? self & 0xDF : self }
}
