/// Finds text that stands in a JSON string as it is, eight bytes at a time: nearly all that a line shows is such text.
enum PlainText {
  /// How many bytes at the start surely go as they are: all of them, or fewer than stand before the first that does not.
  @inline(__always)
  static func prefix(of bytes: UnsafePointer<UInt8>, count: Int) -> Int {
    guard count >= 8 else { return isPlain(shortWord(of: bytes, count: count)) ? count : 0 }
    var index = 0
    while index &+ 8 <= count {
      guard isPlain(word(at: bytes + index)) else { return index }
      index &+= 8
    }
    // The rest with bytes that are known already.
    return isPlain(word(at: bytes + (count &- 8))) ? count : index
  }

  @inline(__always)
  private static func word(at bytes: UnsafePointer<UInt8>) -> UInt64 {
    UnsafeRawPointer(bytes).loadUnaligned(as: UInt64.self)
  }

  /// All bytes of a text of fewer than eight, some of them twice, and spaces.
  @inline(__always)
  private static func shortWord(of bytes: UnsafePointer<UInt8>, count: Int) -> UInt64 {
    guard count > 0 else { return spaces }
    if count >= 4 {
      let first = UnsafeRawPointer(bytes).loadUnaligned(as: UInt32.self)
      let last = UnsafeRawPointer(bytes + (count &- 4)).loadUnaligned(as: UInt32.self)
      return UInt64(first) << 32 | UInt64(last)
    }
    let ends = UInt64(bytes[0]) << 16 | UInt64(bytes[count &- 1]) << 8
    return spaces << 24 | ends | UInt64(bytes[count >> 1])
  }

  private static let spaces = ones &* 0x20
  private static let ones: UInt64 = 0x0101_0101_0101_0101

  /// Whether all eight bytes go as they are: ASCII, no control character, no quote, no backslash.
  @inline(__always)
  private static func isPlain(_ word: UInt64) -> Bool {
    let tops: UInt64 = 0x8080_8080_8080_8080
    // The classic test for a zero byte, on the word less each byte that is looked for.
    let quote = word ^ (ones &* 0x22)
    let backslash = word ^ (ones &* 0x5C)
    let delete = word ^ (ones &* 0x7F)
    let found =
      word | ((word &- ones &* 0x20) & ~word) | ((quote &- ones) & ~quote)
      | ((backslash &- ones) & ~backslash) | ((delete &- ones) & ~delete)
    return found & tops == 0
  }
}
