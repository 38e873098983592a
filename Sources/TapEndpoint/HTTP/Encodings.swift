import TapCore

extension PercentEncoding {
  /// Decodes the value of a form field: `+` is a space. An invalid escape is left as it is.
  static func formDecoded(_ text: some Collection<UInt8>) -> String {
    String(decoding: decoded(text.map { $0 == UInt8(ascii: "+") ? ByteClass.space : $0 }), as: UTF8.self)
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
}

/// Base64 (RFC 4648, section 4).
enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func encoded(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var encoded: [UInt8] = []
    encoded.reserveCapacity((bytes.count + 2) / 3 * 4)
    var rest = bytes[...]
    while !rest.isEmpty {
      let group = rest.prefix(3)
      rest = rest.dropFirst(3)
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for position in 0..<4 {
        encoded.append(
          position <= group.count ? alphabet[bits >> (18 - 6 * position) & 63] : UInt8(ascii: "="))
      }
    }
    return encoded
  }
}
