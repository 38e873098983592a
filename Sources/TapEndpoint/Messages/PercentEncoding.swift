/// Percent-encoding (RFC 3986, section 2.1).
enum PercentEncoding {
  /// Decodes the value of a form field: `+` is a space. What is no valid escape is left as it is.
  static func formDecoded(_ text: some Collection<UInt8>) -> String {
    String(decoding: decoded(text, plusIsSpace: true), as: UTF8.self)
  }

  /// Decodes what is percent-encoded. What is no valid escape is left as it is.
  static func decoded(_ text: some Collection<UInt8>, plusIsSpace: Bool = false) -> [UInt8] {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(text.count)
    var rest = text[...]
    while let byte = rest.popFirst() {
      if plusIsSpace, byte == UInt8(ascii: "+") {
        decoded.append(UInt8(ascii: " "))
      } else if byte == UInt8(ascii: "%"), let value = escape(rest.prefix(2)) {
        decoded.append(value)
        rest = rest.dropFirst(2)
      } else {
        decoded.append(byte)
      }
    }
    return decoded
  }

  /// Normalises a path whose escapes have been checked (RFC 3986, sections 6.2.2.1 and 6.2.2.2): an escaped
  /// unreserved character is decoded, the digits of all others are put in upper case.
  static func normalized(_ path: some Collection<UInt8>) -> String {
    guard path.contains(UInt8(ascii: "%")) else { return String(decoding: path, as: UTF8.self) }
    var normalized: [UInt8] = []
    normalized.reserveCapacity(path.count)
    var rest = path[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%"), let value = escape(rest.prefix(2)) else {
        normalized.append(byte)
        continue
      }
      if ByteClass.isUnreserved(value) {
        normalized.append(value)
      } else {
        normalized.append(byte)
        normalized.append(contentsOf: rest.prefix(2).map { $0 >= UInt8(ascii: "a") ? $0 & 0xDF : $0 })
      }
      rest = rest.dropFirst(2)
    }
    return String(decoding: normalized, as: UTF8.self)
  }

  /// The byte that two hexadecimal digits stand for.
  private static func escape(_ digits: some Collection<UInt8>) -> UInt8? {
    guard let high = digits.first.flatMap(ByteClass.hexadecimalValue), digits.count == 2,
      let low = digits.dropFirst().first.flatMap(ByteClass.hexadecimalValue)
    else { return nil }
    return high << 4 | low
  }
}
