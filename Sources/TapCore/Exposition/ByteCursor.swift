/// Writes bytes one after another into room that was made before: no check of the capacity per byte.
///
/// What does not fit is left out, which happens only if the caller has reckoned too little.
struct ByteCursor {
  private let bytes: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  init(_ bytes: UnsafeMutableRawBufferPointer) {
    self.bytes = bytes
  }

  @inline(__always)
  mutating func write(_ byte: UInt8) {
    guard count < bytes.count else { return }
    bytes[count] = byte
    count += 1
  }

  @inline(__always)
  mutating func write(_ source: [UInt8]) {
    source.withUnsafeBytes { write($0) }
  }

  mutating func write(_ text: String) {
    var text = text
    text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
  }

  @inline(__always)
  mutating func write(_ source: UnsafeRawBufferPointer) {
    guard source.count <= bytes.count - count, let from = source.baseAddress,
      let to = bytes.baseAddress
    else { return }
    (to + count).copyMemory(from: from, byteCount: source.count)
    count += source.count
  }

  /// Repeats what was written in `range`.
  @inline(__always)
  mutating func repeatBytes(in range: Range<Int>) {
    guard range.upperBound <= count else { return }
    write(UnsafeRawBufferPointer(rebasing: bytes[range]))
  }

  /// The decimal digits of a number.
  @inline(__always)
  mutating func write(decimal value: UInt64) {
    var length = 1
    var bound: UInt64 = 10
    while length < 20, value >= bound {
      length += 1
      bound = length < 20 ? bound &* 10 : .max
    }
    guard length <= bytes.count - count else { return }
    var rest = value
    for index in stride(from: count + length - 1, through: count, by: -1) {
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      bytes[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit)
      rest = quotient
    }
    count += length
  }
}
