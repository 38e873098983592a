extension String {
  /// Whether both are the same but for the case of ASCII letters, as names and tokens of HTTP are compared
  /// (RFC 9110, section 5.1).
  package func isEqualIgnoringASCIICase(to other: String) -> Bool {
    let left = utf8
    let right = other.utf8
    return left.count == right.count
      && zip(left, right).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
  }
}

extension UInt8 {
  /// The lowercase form of an ASCII letter, and any other byte itself.
  package var asciiLowercased: UInt8 {
    self &- UInt8(ascii: "A") < 26 ? self | 0x20 : self
  }
}
