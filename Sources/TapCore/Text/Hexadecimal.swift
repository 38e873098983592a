extension UInt8 {
  /// The value of a hexadecimal digit in either case, or `nil`.
  var hexadecimalValue: UInt8? {
    if isASCIIDigit { return self & 0x0F }
    let letter = asciiLowercased &- UInt8(ascii: "a")
    return letter < 6 ? letter + 10 : nil
  }

  var isHexadecimal: Bool { isASCIIDigit || asciiLowercased &- UInt8(ascii: "a") < 6 }
}

/// Numbers as the lowercase hexadecimal digits of W3C Trace Context, section 3.2.
package enum HexadecimalDigits {
  /// The number of at most 16 digits, or `nil` if one is something else.
  static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
    var number: UInt64 = 0
    for digit in digits {
      guard let value = digit.hexadecimalValue, digit == digit.asciiLowercased else { return nil }
      number = number << 4 | UInt64(value)
    }
    return number
  }

  static func text(of number: UInt64) -> String {
    String(unsafeUninitializedCapacity: 16) { memory in
      guard let base = memory.baseAddress, memory.count >= 16 else { return 0 }
      write(number, to: base)
      return 16
    }
  }

  @inline(__always)
  package static func write(_ number: UInt64, to target: UnsafeMutablePointer<UInt8>) {
    let digits: StaticString = "0123456789abcdef"
    for place in 0..<16 { target[place] = digits.utf8Start[Int(number >> UInt64(60 - 4 * place) & 15)] }
  }
}

/// Percent-encoding (RFC 3986, section 2.1).
package enum PercentEncoding {
  /// Decodes what is percent-encoded. An invalid escape is left as it is.
  package static func decoded(_ text: some Collection<UInt8>) -> [UInt8] {
    var decoded: [UInt8] = []
    var rest = Array(text)[...]
    while let byte = rest.popFirst() {
      let value = byte == .percent ? escape(rest.prefix(2)) : nil
      decoded.append(value ?? byte)
      if value != nil { rest = rest.dropFirst(2) }
    }
    return decoded
  }

  /// The byte that the two digits of an escape stand for.
  package static func escape(_ digits: some Collection<UInt8>) -> UInt8? {
    guard digits.count == 2 else { return nil }
    return digits.reduce(0) { value, digit in
      guard let value, let low = digit.hexadecimalValue else { return nil }
      return value << 4 | low
    }
  }
}
