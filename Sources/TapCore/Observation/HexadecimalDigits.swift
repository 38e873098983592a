/// Numbers as the lowercase hexadecimal digits of W3C Trace Context, section 3.2.
package enum HexadecimalDigits {
  /// The number of two digits, or `nil` if one is something else.
  @inline(__always)
  static func byte(_ digits: UnsafePointer<UInt8>) -> UInt8? {
    // Eight digits are read at once; these are the last of them.
    number(of: 0x3030_3030_3030_0000 | UInt64(digits[0]) << 8 | UInt64(digits[1])).map(UInt8.init)
  }

  /// The number of 16 digits, or `nil` if one is something else.
  @inline(__always)
  static func number(_ digits: UnsafePointer<UInt8>) -> UInt64? {
    let digits = UnsafeRawPointer(digits)
    guard let high = number(of: UInt64(bigEndian: digits.loadUnaligned(as: UInt64.self))),
      let low = number(of: UInt64(bigEndian: digits.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    else { return nil }
    return UInt64(high) << 32 | UInt64(low)
  }

  /// The number of eight digits, the first in the highest byte. A letter is nine more than its lower half says. What was no
  /// digit gives a number with other digits.
  @inline(__always)
  private static func number(of text: UInt64) -> UInt32? {
    let letters = text >> 6 & 0x0101_0101_0101_0101
    var halves = (text & 0x0f0f_0f0f_0f0f_0f0f) &+ letters &* 9
    halves = (halves | halves >> 4) & 0x00ff_00ff_00ff_00ff
    halves = (halves | halves >> 8) & 0x0000_ffff_0000_ffff
    let number = UInt32(truncatingIfNeeded: halves | halves >> 16)
    return digits(number) == text ? number : nil
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
