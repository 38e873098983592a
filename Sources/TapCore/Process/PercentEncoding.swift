/// Percent-encoding (RFC 3986, section 2.1).
package enum PercentEncoding {
  /// Decodes what is percent-encoded. An invalid escape is left as it is.
  package static func decoded(_ text: some Collection<UInt8>) -> [UInt8] {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(text.count)
    var rest = text[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let value = escape(rest.prefix(2)) {
        decoded.append(value)
        rest = rest.dropFirst(2)
      } else {
        decoded.append(byte)
      }
    }
    return decoded
  }

  /// The byte that the two digits of an escape stand for.
  package static func escape(_ digits: some Collection<UInt8>) -> UInt8? {
    let text = String(decoding: digits, as: UTF8.self)
    // A sign would be a number too.
    return digits.count == 2 && text.allSatisfy(\.isHexDigit) ? UInt8(text, radix: 16) : nil
  }
}
