/// The bytes of one protocol buffers message while it is made (Protocol Buffers, "Encoding").
struct ProtobufMessage {
  private(set) var bytes: [UInt8] = []

  /// Removes all bytes and keeps the capacity.
  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  /// Exchanges the bytes for others.
  mutating func exchangeBytes(_ other: inout [UInt8]) {
    swap(&bytes, &other)
  }

  mutating func append(string value: String, field: Int) {
    append(bytes: value.utf8, field: field)
  }

  mutating func append(message: ProtobufMessage, field: Int) {
    append(bytes: message.bytes, field: field)
  }

  mutating func append(bytes value: some Collection<UInt8>, field: Int) {
    append(tag: field, wireType: 2)
    append(varint: UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  mutating func append(double value: Double, field: Int) {
    append(tag: field, wireType: 1)
    for shift in stride(from: 0, to: 64, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: value.bitPattern >> UInt64(shift)))
    }
  }

  mutating func append(unsigned value: UInt64, field: Int) {
    append(tag: field, wireType: 0)
    append(varint: value)
  }

  /// `int64`, `int32` and enumerations: two's complement.
  mutating func append(integer value: Int64, field: Int) {
    append(unsigned: UInt64(bitPattern: value), field: field)
  }

  /// `sint32` and `sint64`: the sign is moved to the lowest bit.
  mutating func append(signed value: Int64, field: Int) {
    append(unsigned: Self.zigZag(value), field: field)
  }

  /// A packed list of `sint64`.
  mutating func append(packedSigned values: [Int64], field: Int) {
    var list = ProtobufMessage()
    for value in values { list.append(varint: Self.zigZag(value)) }
    append(message: list, field: field)
  }

  /// A number, seven bits a byte, the lowest first.
  mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  /// Bytes as they are.
  mutating func append(raw value: [UInt8]) {
    bytes.append(contentsOf: value)
  }

  private mutating func append(tag field: Int, wireType: Int) {
    append(varint: UInt64(field << 3 | wireType))
  }

  private static func zigZag(_ value: Int64) -> UInt64 {
    UInt64(bitPattern: value << 1 ^ value >> 63)
  }
}
