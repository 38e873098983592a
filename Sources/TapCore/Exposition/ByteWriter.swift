/// Writes text and numbers into memory of the caller, and never past its end: a piece that does not fit is left out.
struct ByteWriter {
  private let memory: UnsafeMutablePointer<UInt8>
  private let capacity: Int
  private(set) var count = 0

  init(_ memory: UnsafeMutablePointer<UInt8>, capacity: Int) {
    self.memory = memory
    self.capacity = capacity
  }

  @inline(__always)
  mutating func append(_ source: UnsafePointer<UInt8>, count length: Int) {
    guard length <= capacity &- count else { return }
    (memory + count).update(from: source, count: length)
    count &+= length
  }

  @inline(__always)
  mutating func append(_ text: StaticString) { append(text.utf8Start, count: text.utf8CodeUnitCount) }

  @inline(__always)
  mutating func append(_ bytes: [UInt8]) {
    bytes.withUnsafeBufferPointer { bytes in
      if let base = bytes.baseAddress { append(base, count: bytes.count) }
    }
  }

  @inline(__always)
  mutating func append(text: String) {
    var text = text
    text.withUTF8 { bytes in
      if let base = bytes.baseAddress { append(base, count: bytes.count) }
    }
  }

  @inline(__always)
  mutating func repeatBeginning(_ length: Int) { append(memory, count: min(length, count)) }

  @inline(__always)
  mutating func integer(_ value: UInt64) {
    var digits = 1
    var bound: UInt64 = 10
    while digits < 20, value >= bound {
      digits &+= 1
      bound &*= 10
    }
    guard digits <= capacity &- count else { return }
    var rest = value
    var index = count &+ digits
    while index > count {
      index &-= 1
      let quotient = rest / 10
      memory[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest &- quotient &* 10)
      rest = quotient
    }
    count &+= digits
  }
}

extension BidirectionalCollection<UInt8> {
  /// The last place, at most `limit` from the start, that is not inside a character of well-formed UTF-8.
  package func characterBoundary(before limit: Int) -> Index {
    guard var place = index(startIndex, offsetBy: Swift.max(0, limit), limitedBy: endIndex), place < endIndex
    else {
      return endIndex
    }
    while place > startIndex, self[place] & 0xC0 == 0x80 { formIndex(before: &place) }
    return place
  }
}
