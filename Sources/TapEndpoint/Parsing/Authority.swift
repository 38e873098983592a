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
