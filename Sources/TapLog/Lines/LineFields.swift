import TapCore

/// The fields that the app adds: those of every line, rendered once, and those of one line. No key ever stands
/// twice: keys that the line has by itself are refused, and a line's own field replaces one of every line's.
struct LineFields: Sendable {
  private let shared: [(key: String, text: [UInt8])]
  /// All of `shared`, for the lines that replace none of it.
  private let sharedText: [UInt8]
  private let reserved: ReservedKeys

  /// Whether each of the fields can stand in every line.
  static func check(_ fields: [String: FieldValue]) throws(RequestLogError) {
    if fields.count > LineLimits.fields { throw .tooManyFields(fields.count, limit: LineLimits.fields) }
    for key in fields.keys.sorted() {
      if !ReservedKeys.request.allows(key) || !ReservedKeys.inbound.allows(key) { throw .reservedField(key) }
      if key.utf8.count > LineLimits.name { throw .fieldKeyTooLong(key, limit: LineLimits.name) }
    }
  }

  init(shared fields: [String: FieldValue], reserved: ReservedKeys) {
    self.reserved = reserved
    // Six bytes are the most that escaping makes of one; punctuation and a number take the rest.
    let capacity = 6 * (LineLimits.name + LineLimits.value) + 64
    shared = fields.sorted { $0.key < $1.key }
      .filter { reserved.allows($0.key) }
      .map { field in
        (field.key, ByteWriter.bytes(capacity: capacity) { $0.field(field.key, field.value) })
      }
    sharedText = shared.flatMap(\.text)
  }

  /// Writes the fields, in the order of their keys.
  func write(_ fields: [String: FieldValue], to line: inout LineWriter) {
    if fields.isEmpty, line.wholePart({ $0.append(sharedText) }) { return }
    for field in shared where fields[field.key] == nil {
      line.part { $0.append(field.text) }
    }
    var count = 0
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
      // A key is not cut, because two that are cut might be one.
      guard count < LineLimits.fields, key.utf8.count <= LineLimits.name, reserved.allows(key) else {
        line.refused += 1
        continue
      }
      count += 1
      line.part { $0.field(key, value) }
    }
  }
}

extension ByteWriter {
  /// `,"key":value`
  fileprivate mutating func field(_ key: String, _ value: FieldValue) {
    append(",")
    string(key, limit: LineLimits.name)
    append(":")
    switch value {
    case .string(let text): string(text, limit: LineLimits.value)
    case .integer(let number): integer(number)
    case .double(let number): double(number)
    case .boolean(let flag): append(flag ? "true" : "false")
    }
  }
}
