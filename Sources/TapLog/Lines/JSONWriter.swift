import TapCore

/// Writes JSON into memory of the caller, and never past its end.
///
/// The first piece that does not fit closes the writer: nothing more goes in, ``isFull`` says so, and
/// ``rollBack(to:)`` opens it again at an earlier place. A caller therefore checks once a field, not once a byte.
struct JSONWriter {
  private let memory: UnsafeMutablePointer<UInt8>
  private let capacity: Int
  /// The bytes written so far.
  private(set) var count = 0
  /// The end of writing: the capacity, or `count` once a piece did not fit.
  private var end: Int

  init(_ memory: UnsafeMutablePointer<UInt8>, capacity: Int) {
    self.memory = memory
    self.capacity = capacity
    end = capacity
  }

  /// Whether something did not fit.
  private(set) var isFull = false

  /// The written bytes.
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

  /// Memory for a number of known length, or `nil` if it does not fit.
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

extension JSONWriter {
  /// An integer in decimal.
  mutating func integer(_ value: Int64) {
    if value < 0 { append(UInt8(ascii: "-")) }
    integer(value.magnitude)
  }

  /// A natural number in decimal.
  mutating func integer(_ value: UInt64) {
    var length = 1
    var bound: UInt64 = 10
    while value >= bound {
      length &+= 1
      let (next, overflow) = bound.multipliedReportingOverflow(by: 10)
      if overflow { break }
      bound = next
    }
    decimal(value, digits: length)
  }

  /// Exactly so many decimal digits, with zeros in front.
  @inline(__always)
  private mutating func decimal(_ value: UInt64, digits: Int) {
    guard let target = extend(by: digits) else { return }
    Self.write(value, digits: digits, to: target)
  }

  @inline(__always)
  private static func write(_ value: UInt64, digits: Int, to target: UnsafeMutablePointer<UInt8>) {
    var rest = value
    var index = digits
    while index > 0 {
      index &-= 1
      let quotient = rest / 10
      target[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest &- quotient &* 10)
      rest = quotient
    }
  }

  /// A time in seconds: all digits, no trailing zeros, and no conversion to a floating-point number. A
  /// negative time, which no monotonic clock gives, is 0.
  mutating func seconds(nanoseconds: Int64) {
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

  /// The shortest number that reads back as the same value (SE-0233's description). What JSON has no number for
  /// stands as the strings of the Protobuf JSON mapping: `"NaN"`, `"Infinity"`, `"-Infinity"`.
  mutating func double(_ value: Double) {
    guard value.isFinite else {
      return append(value.isNaN ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"")
    }
    value.description.withBytes { bytes in
      if let base = bytes.baseAddress { append(base, count: bytes.count) }
    }
  }

  /// A point in time by RFC 3339, in UTC and to the microsecond, always 27 characters: `2026-11-21T09:30:00.123456Z`.
  mutating func timestamp(_ time: Timestamp) {
    // Rounded down, before 1970 too, so that the order of the texts is the order of the times.
    let (seconds, nanoseconds) = time.nanosecondsSinceEpoch.flooredQuotientAndRemainder(by: 1_000_000_000)
    let (day, second) = seconds.flooredQuotientAndRemainder(by: 86_400)
    let date = CivilDate(daysSinceEpoch: day)
    guard let target = extend(by: 27) else { return }
    Self.writePair(date.year / 100, to: target)
    Self.writePair(date.year % 100, to: target + 2)
    target[4] = UInt8(ascii: "-")
    Self.writePair(date.month, to: target + 5)
    target[7] = UInt8(ascii: "-")
    Self.writePair(date.day, to: target + 8)
    target[10] = UInt8(ascii: "T")
    Self.writePair(second / 3_600, to: target + 11)
    target[13] = UInt8(ascii: ":")
    Self.writePair(second / 60 % 60, to: target + 14)
    target[16] = UInt8(ascii: ":")
    Self.writePair(second % 60, to: target + 17)
    target[19] = UInt8(ascii: ".")
    Self.writePair(nanoseconds / 10_000_000, to: target + 20)
    Self.writePair(nanoseconds / 100_000 % 100, to: target + 22)
    Self.writePair(nanoseconds / 1_000 % 100, to: target + 24)
    target[26] = UInt8(ascii: "Z")
  }

  /// Two decimal digits of a number below 100.
  @inline(__always)
  private static func writePair(_ value: Int64, to target: UnsafeMutablePointer<UInt8>) {
    let value = UInt16(truncatingIfNeeded: value)
    // A tenth, exact below 1,029.
    let tens = (value &* 205) >> 11
    let digits = tens | (value &- tens &* 10) << 8 | 0x3030
    UnsafeMutableRawPointer(target).storeBytes(of: digits.littleEndian, as: UInt16.self)
  }
}
