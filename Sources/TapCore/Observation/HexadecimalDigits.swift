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
      guard let base = memory.baseAddress, memory.count >= 16 else { return 0 }
      write(number, to: base)
      return 16
    }
  }

  /// Writes all 16 digits of a number.
  @inline(__always)
  package static func write(_ number: UInt64, to target: UnsafeMutablePointer<UInt8>) {
    let target = UnsafeMutableRawPointer(target)
    target.storeBytes(of: digits(UInt32(truncatingIfNeeded: number >> 32)).bigEndian, as: UInt64.self)
    target.storeBytes(
      of: digits(UInt32(truncatingIfNeeded: number)).bigEndian, toByteOffset: 8, as: UInt64.self)
  }

  /// Eight digits at once, the first in the highest byte: each half of a byte moves into a byte of its own, and becomes its
  /// character, which for ten and above is 39 further on.
  @inline(__always)
  private static func digits(_ number: UInt32) -> UInt64 {
    var halves = UInt64(number)
    halves = (halves | halves << 16) & 0x0000_ffff_0000_ffff
    halves = (halves | halves << 8) & 0x00ff_00ff_00ff_00ff
    halves = (halves | halves << 4) & 0x0f0f_0f0f_0f0f_0f0f
    let letters = ((halves + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
    return halves + 0x3030_3030_3030_3030 + letters * 39
  }
}
