/// The bytes of an exposition while it is written.
///
/// The array is as long as its contents may get, and the number of written bytes is counted beside it: space is not
/// cleared again before each write, nor at all when an array is used for a second time.
struct ByteBuffer {
  /// The number of written bytes.
  private(set) var count = 0
  private var storage: [UInt8] = []

  /// Begins to write in an array, which is empty until ``finish(into:)``.
  mutating func start(in array: inout [UInt8]) {
    swap(&storage, &array)
    count = 0
  }

  /// Gives the array back with the written bytes.
  mutating func finish(into array: inout [UInt8]) {
    storage.removeLast(storage.count - count)
    swap(&storage, &array)
    count = 0
  }

  mutating func append(_ text: String) {
    append(atMost: text.utf8.count) { $0.write(text) }
  }

  mutating func append(_ byte: UInt8) {
    append(atMost: 1) { $0.write(byte) }
  }

  /// Removes the last bytes.
  mutating func removeLast(_ number: Int) {
    count -= min(number, count)
  }

  /// Reserves space for `maximum` bytes, which `body` writes into.
  @inline(__always)
  mutating func append(atMost maximum: Int, _ body: (inout ByteCursor) -> Void) {
    let start = count
    if storage.count - start < maximum { grow(by: maximum) }
    count += storage.withUnsafeMutableBytes { bytes in
      var cursor = ByteCursor(UnsafeMutableRawBufferPointer(rebasing: bytes[start...]))
      body(&cursor)
      return cursor.count
    }
  }

  @inline(never)
  private mutating func grow(by maximum: Int) {
    // An array, since the generic append of other sequences is 300 times slower without optimization. The array doubles its
    // capacity by itself; what is beyond its count need not be cleared.
    storage += [UInt8](repeating: 0, count: max(count + maximum - storage.count, 4_096))
  }
}

/// Writes bytes one after another into reserved space.
///
/// Bytes that do not fit are left out, which happens only if the caller has reserved too little.
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
