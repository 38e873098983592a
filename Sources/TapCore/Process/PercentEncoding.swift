/// Percent-encoding (RFC 3986, section 2.1).
package enum PercentEncoding {
  /// Decodes what is percent-encoded. An invalid escape is left as it is.
  package static func decoded(_ text: some Collection<UInt8>) -> [UInt8] {
    var decoded: [UInt8] = []
    var rest = Array(text)[...]
    while let byte = rest.popFirst() {
      let value = byte == UInt8(ascii: "%") ? escape(rest.prefix(2)) : nil
      decoded.append(value ?? byte)
      if value != nil { rest = rest.dropFirst(2) }
    }
    return decoded
  }

  /// The byte that the two digits of an escape stand for.
  package static func escape(_ digits: some Collection<UInt8>) -> UInt8? {
    guard digits.count == 2 else { return nil }
    return digits.reduce(0) { value, digit in
      let letter = digit.asciiLowercased &- UInt8(ascii: "a")
      guard let value, digit.isASCIIDigit || letter < 6 else { return nil }
      return value << 4 | (digit.isASCIIDigit ? digit & 0x0F : letter + 10)
    }
  }
}
