/// Reads protocol buffers messages field by field, as far as a test needs it.
struct ProtobufReader {
  /// The values of each field, in their order.
  private(set) var fields: [Int: [Value]] = [:]

  enum Value {
    case number(UInt64)
    case bytes(ArraySlice<UInt8>)
  }

  /// `nil` if the bytes are no message.
  init?(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    while !rest.isEmpty {
      guard let tag = Self.varint(&rest) else { return nil }
      let value: Value
      switch tag & 7 {
      case 0:
        guard let number = Self.varint(&rest) else { return nil }
        value = .number(number)
      case 1:
        guard rest.count >= 8 else { return nil }
        value = .number(rest.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) })
        rest = rest.dropFirst(8)
      case 2:
        guard let length = Self.varint(&rest), length <= rest.count else { return nil }
        value = .bytes(rest.prefix(Int(length)))
        rest = rest.dropFirst(Int(length))
      default: return nil
      }
      fields[Int(tag >> 3), default: []].append(value)
    }
  }

  /// The messages of a delimited stream.
  static func messages(_ bytes: [UInt8]) -> [ProtobufReader]? {
    var messages: [ProtobufReader] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let length = varint(&rest), length <= rest.count,
        let message = ProtobufReader(rest.prefix(Int(length)))
      else { return nil }
      messages.append(message)
      rest = rest.dropFirst(Int(length))
    }
    return messages
  }

  func number(_ field: Int) -> UInt64? {
    if case .number(let number)? = fields[field]?.last { number } else { nil }
  }

  func double(_ field: Int) -> Double? { number(field).map(Double.init(bitPattern:)) }

  func text(_ field: Int) -> String? { bytes(field).last.map { String(decoding: $0, as: UTF8.self) } }

  func messages(_ field: Int) -> [ProtobufReader] { bytes(field).compactMap { ProtobufReader($0) } }

  /// A packed list of signed numbers.
  func signedNumbers(_ field: Int) -> [Int64] {
    var numbers: [Int64] = []
    for list in bytes(field) {
      var rest = list
      while let number = Self.varint(&rest) { numbers.append(Self.zigZag(number)) }
    }
    return numbers
  }

  static func zigZag(_ number: UInt64) -> Int64 {
    Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
  }

  private func bytes(_ field: Int) -> [ArraySlice<UInt8>] {
    (fields[field] ?? []).compactMap { if case .bytes(let bytes) = $0 { bytes } else { nil } }
  }

  private static func varint(_ rest: inout ArraySlice<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      guard let byte = rest.popFirst() else { return nil }
      number |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return number }
    }
    return nil
  }
}
