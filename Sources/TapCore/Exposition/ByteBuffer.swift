/// The bytes of an exposition while it is written.
///
/// The array is kept as long as its contents may get, and how much of it is written is counted beside it: room is not
/// cleared again before each write, nor at all when an array is used for a second time.
struct ByteBuffer {
  /// How many bytes are written.
  private(set) var count = 0
  private var storage: [UInt8] = []

  /// Begins anew in an array, which is taken away until ``finish(into:)``.
  mutating func start(in array: inout [UInt8]) {
    swap(&storage, &array)
    count = 0
  }

  /// Hands the array back with what is written.
  mutating func finish(into array: inout [UInt8]) {
    storage.removeLast(storage.count - count)
    swap(&storage, &array)
    count = 0
  }

  mutating func append(_ text: String) {
    append(atMost: text.utf8.count) { $0.write(text) }
  }

  mutating func append(_ bytes: [UInt8]) {
    append(atMost: bytes.count) { $0.write(bytes) }
  }

  mutating func append(_ byte: UInt8) {
    append(atMost: 1) { $0.write(byte) }
  }

  /// Takes the last bytes back.
  mutating func removeLast(_ number: Int) {
    count -= min(number, count)
  }

  /// Makes room for `maximum` bytes and lets `body` write into it.
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
    // The array doubles its capacity by itself; what is beyond its count need not be cleared.
    let missing = count + maximum - storage.count
    storage.append(contentsOf: repeatElement(0, count: missing))
  }
}
