/// Numbers as the lowercase hexadecimal digits of W3C Trace Context, section 3.2.
package enum HexadecimalDigits {
  /// The number of at most 16 digits, or `nil` if a byte is something else.
  static func number(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
    var number: UInt64 = 0
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(byte - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
      default: return nil
      }
    }
    return number
  }

  /// All 16 digits of a number.
  static func text(_ number: UInt64) -> String {
    String(unsafeUninitializedCapacity: 16) { memory in
      for index in 0..<16 { memory[index] = digit(number, at: index) }
      return 16
    }
  }

  /// One of the 16 digits of a number, the first at 0.
  @inline(__always)
  package static func digit(_ number: UInt64, at index: Int) -> UInt8 {
    let value = UInt8(truncatingIfNeeded: number >> (60 - 4 * UInt64(truncatingIfNeeded: index & 15))) & 15
    return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
  }
}
