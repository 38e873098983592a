/// A class of ASCII bytes in the grammars of HTTP and of URIs.
package struct ByteClass: Sendable {
  static let tab = UInt8(ascii: "\t")
  static let lineFeed = UInt8(ascii: "\n")
  static let carriageReturn = UInt8(ascii: "\r")
  static let space = UInt8(ascii: " ")

  private static let unreserved = ByteClass(
    "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  private static let token = unreserved.union("!#$%&'*+^`|")
  private static let registeredName = unreserved.union("!$&'()*+,;=")
  private static let path = registeredName.union("/:@")

  /// A bit for each byte.
  private let bits: (low: UInt64, high: UInt64)

  private init(_ members: String) { bits = ByteClass(bits: (0, 0)).union(members).bits }

  private init(bits: (UInt64, UInt64)) { self.bits = bits }

  private func union(_ members: String) -> ByteClass {
    var (low, high) = bits
    for byte in members.utf8 {
      if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
    }
    return ByteClass(bits: (low, high))
  }

  private func contains(_ byte: UInt8) -> Bool {
    byte < 128 && (byte < 64 ? bits.low : bits.high) & 1 << UInt64(byte & 63) != 0
  }

  /// `tchar` (RFC 9110, section 5.6.2), the bytes of methods and field names: `unreserved` and more.
  static func isToken(_ byte: UInt8) -> Bool { token.contains(byte) }

  /// `field-vchar`, SP and HTAB (RFC 9110, section 5.5): all that a field value may hold. The other control
  /// characters are refused, which the section leaves open but for CR, LF and NUL.
  static func isFieldValue(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == tab }

  /// `unreserved` (RFC 3986, section 2.3).
  package static func isUnreserved(_ byte: UInt8) -> Bool { unreserved.contains(byte) }

  /// What a registered name may hold beside escapes: `unreserved` and `sub-delims` (RFC 3986, section 3.2.2).
  static func isRegisteredName(_ byte: UInt8) -> Bool { registeredName.contains(byte) }

  /// What a path may hold beside escapes: `pchar` and `/` (RFC 3986, section 3.3).
  static func isPath(_ byte: UInt8) -> Bool { path.contains(byte) }

  /// What a query may hold beside escapes. RFC 3986, section 3.4, has `pchar`, `/` and `?`; but browsers and
  /// curl send more as it is (WHATWG URL, "query percent-encode set"), and `name[]=up` is such a query.
  static func isQuery(_ byte: UInt8) -> Bool {
    // The double quote, the hash and the angle brackets.
    byte > 0x20 && byte < 0x7F && byte != 0x22 && byte != 0x23 && byte != 0x3C && byte != 0x3E
  }
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
