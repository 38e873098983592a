/// Writes text and numbers into memory of the caller, and never past its end.
///
/// The first piece that does not fit closes the writer: nothing more goes in, ``isFull`` says so, and
/// ``resume(at:reserving:)`` opens it again at an earlier place. A caller therefore checks once a part, not once a byte.
package struct ByteWriter {
  @usableFromInline let memory: UnsafeMutablePointer<UInt8>
  private let capacity: Int
  @usableFromInline var written = 0
  /// The end of writing: `written` once a piece did not fit.
  @usableFromInline var end: Int

  package init(_ memory: UnsafeMutablePointer<UInt8>, capacity: Int) {
    self.memory = memory
    self.capacity = capacity
    end = capacity
  }

  package private(set) var isFull = false

  @inlinable package var count: Int { written }

  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: written) }

  /// What `body` writes into an array of that capacity.
  package static func bytes(capacity: Int, _ body: (inout ByteWriter) -> Void) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: capacity) { memory, count in
      guard let base = memory.baseAddress else { return }
      var writer = ByteWriter(base, capacity: memory.count)
      body(&writer)
      count = writer.count
    }
  }

  /// Goes on at `mark`, an earlier ``count``, with the last bytes of the memory out of reach.
  package mutating func resume(at mark: Int, reserving reserved: Int = 0) {
    written = min(mark, written)
    end = max(written, capacity - reserved)
    isFull = false
  }

  @usableFromInline mutating func close() {
    isFull = true
    end = written
  }

  @inlinable @inline(__always)
  package mutating func append(_ source: UnsafePointer<UInt8>, count length: Int) {
    guard length <= end &- written else { return close() }
    (memory + written).update(from: source, count: length)
    written &+= length
  }

  @inlinable @inline(__always)
  package mutating func append(_ byte: UInt8) {
    guard written < end else { return close() }
    memory[written] = byte
    written &+= 1
  }

  @inlinable @inline(__always)
  package mutating func append(_ text: StaticString) {
    append(text.utf8Start, count: text.utf8CodeUnitCount)
  }

  @inline(__always)
  package mutating func append(_ bytes: [UInt8]) {
    bytes.withUnsafeBufferPointer { append($0) }
  }

  @inline(__always)
  mutating func repeatBeginning(_ length: Int) { append(memory, count: min(length, written)) }

  @inline(__always)
  package mutating func append(text: String) { text.withBytes { append($0) } }

  @inline(__always)
  private mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    if let base = bytes.baseAddress { append(base, count: bytes.count) }
  }

  package mutating func integer(_ value: Int64) {
    if value < 0 { append(UInt8(ascii: "-")) }
    integer(value.magnitude)
  }

  @inline(__always)
  package mutating func integer(_ value: UInt64) {
    var digits = 1
    var bound: UInt64 = 10
    while digits < 20, value >= bound {
      digits &+= 1
      bound &*= 10
    }
    decimal(value, digits: digits)
  }

  /// Exactly so many decimal digits, with zeros in front.
  @inline(__always)
  private mutating func decimal(_ value: UInt64, digits: Int) {
    guard digits <= end &- written else { return close() }
    var rest = value
    var index = written &+ digits
    while index > written {
      index &-= 1
      let quotient = rest / 10
      memory[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest &- quotient &* 10)
      rest = quotient
    }
    written &+= digits
  }

  package mutating func hexadecimal(_ number: UInt64) {
    guard 16 <= end &- written else { return close() }
    HexadecimalDigits.write(number, to: memory + written)
    written &+= 16
  }

  /// A time in seconds: all digits, no trailing zeros, and no conversion to a floating-point number. A
  /// negative time, which no monotonic clock gives, is 0.
  package mutating func seconds(nanoseconds: Int64) {
    let nanoseconds = UInt64(max(0, nanoseconds))
    integer(nanoseconds / 1_000_000_000)
    var fraction = nanoseconds % 1_000_000_000
    guard fraction > 0 else { return }
    var digits = 9
    while fraction % 10 == 0 {
      fraction /= 10
      digits -= 1
    }
    append(UInt8(ascii: "."))
    decimal(fraction, digits: digits)
  }

  /// A point in time by RFC 3339, in UTC and to the microsecond, always 27 characters: `2026-11-21T09:30:00.123456Z`.
  package mutating func timestamp(_ time: Timestamp) {
    // Rounded down, before 1970 too, so that the order of the texts is the order of the times.
    let (seconds, nanoseconds) = time.secondsAndNanoseconds
    let (day, second) = seconds.flooredQuotientAndRemainder(by: 86_400)
    let date = CivilDate(daysSinceEpoch: day)
    part(date.year, digits: 4, before: UInt8(ascii: "-"))
    part(date.month, digits: 2, before: UInt8(ascii: "-"))
    part(date.day, digits: 2, before: UInt8(ascii: "T"))
    part(second / 3_600, digits: 2, before: UInt8(ascii: ":"))
    part(second / 60 % 60, digits: 2, before: UInt8(ascii: ":"))
    part(second % 60, digits: 2, before: UInt8(ascii: "."))
    part(nanoseconds / 1_000, digits: 6, before: UInt8(ascii: "Z"))
  }

  @inline(__always)
  private mutating func part(_ value: Int64, digits: Int, before separator: UInt8) {
    decimal(UInt64(truncatingIfNeeded: value), digits: digits)
    append(separator)
  }
}
