/// Writes JSON into memory that somebody else owns, and never past its end.
///
/// The first piece that does not fit closes the writer: nothing more goes in, ``isFull`` says so, and
/// ``rollBack(to:)`` opens it again at an earlier place. A caller therefore checks once a field, not once a byte.
struct JSONWriter {
  private let memory: UnsafeMutablePointer<UInt8>
  private let capacity: Int
  /// The bytes written so far.
  private(set) var count = 0
  /// Where writing ends: the capacity, or `count` once something did not fit.
  private var end: Int

  init(_ memory: UnsafeMutablePointer<UInt8>, capacity: Int) {
    self.memory = memory
    self.capacity = capacity
    end = capacity
  }

  /// Whether something did not fit.
  private(set) var isFull = false

  /// What has been written.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }

  /// Forgets what was written after `mark`, an earlier ``count``.
  mutating func rollBack(to mark: Int) {
    count = min(mark, count)
    end = capacity
    isFull = false
  }

  /// Keeps the last bytes of the memory out of reach, or gives them back.
  mutating func reserve(_ reserved: Int) {
    end = max(count, capacity - reserved)
    isFull = false
  }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    guard count < end else { return close() }
    memory[count] = byte
    count &+= 1
  }

  @inline(__always)
  mutating func append(_ source: UnsafePointer<UInt8>, count length: Int) {
    guard length <= end &- count else { return close() }
    (memory + count).update(from: source, count: length)
    count &+= length
  }

  /// Text that needs no escaping.
  @inline(__always)
  mutating func append(_ text: StaticString) {
    append(text.utf8Start, count: text.utf8CodeUnitCount)
  }

  /// Room for a number of known length, or `nil` if there is none.
  @inline(__always)
  mutating func extend(by length: Int) -> UnsafeMutablePointer<UInt8>? {
    guard length <= end &- count else {
      close()
      return nil
    }
    defer { count &+= length }
    return memory + count
  }

  private mutating func close() {
    isFull = true
    end = count
  }
}
