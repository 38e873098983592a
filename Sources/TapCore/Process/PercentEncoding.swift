/// Percent-encoding (RFC 3986, section 2.1).
package enum PercentEncoding {
  /// Decodes what is percent-encoded. An invalid escape is left as it is.
  package static func decoded(_ text: some Collection<UInt8>) -> [UInt8] {
    var decoded: [UInt8] = []
    var rest = Array(text)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%"), let value = escape(rest.prefix(2)) else {
        decoded.append(byte)
        continue
      }
      decoded.append(value)
      rest = rest.dropFirst(2)
    }
    return decoded
  }

  /// The byte that the two digits of an escape stand for.
  package static func escape(_ digits: some Collection<UInt8>) -> UInt8? {
    guard digits.count == 2, let high = digits.first, let low = digits.dropFirst().first else { return nil }
    return escape(high, low)
  }

  package static func escape(_ high: UInt8, _ low: UInt8) -> UInt8? {
    guard let high = value(high), let low = value(low) else { return nil }
    return high << 4 | low
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    if digit.isASCIIDigit { return digit & 0x0F }
    let letter = digit.asciiLowercased &- UInt8(ascii: "a")
    return letter < 6 ? letter + 10 : nil
  }
}
