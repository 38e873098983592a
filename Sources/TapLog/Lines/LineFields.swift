import TapCore

/// The fields that the app adds: those of every line, rendered once, and those of one line. No key ever stands
/// twice: keys that the line has by itself are refused, and a line's own field replaces one of every line's.
struct LineFields: Sendable {
  private let shared: [SharedField]
  /// All of `shared`, for the lines that replace none of it.
  private let sharedText: [UInt8]
  private let reserved: ReservedKeys
  private let limits: LineLimits

  private struct SharedField: Sendable {
    let key: String
    let text: [UInt8]
  }

  /// Whether each of the fields can stand in every line.
  static func check(_ fields: [String: FieldValue], limits: LineLimits) throws(RequestLogError) {
    if fields.count > limits.fields { throw .tooManyFields(fields.count, limit: limits.fields) }
    for key in fields.keys.sorted() {
      if !ReservedKeys.request.allows(key) || !ReservedKeys.inbound.allows(key) { throw .reservedField(key) }
      if key.utf8.count > limits.name { throw .fieldKeyTooLong(key, limit: limits.name) }
    }
  }

  init(shared fields: [String: FieldValue], reserved: ReservedKeys, limits: LineLimits) {
    self.reserved = reserved
    self.limits = limits
    shared = fields.sorted { $0.key < $1.key }
      .filter { reserved.allows($0.key) }
      .map { SharedField(key: $0.key, text: Self.render($0.key, $0.value, limits: limits)) }
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
      guard count < limits.fields, key.utf8.count <= limits.name, reserved.allows(key) else {
        line.refused += 1
        continue
      }
      count += 1
      line.part { $0.field(key, value, limits: limits) }
    }
  }

  private static func render(_ key: String, _ value: FieldValue, limits: LineLimits) -> [UInt8] {
    // Six bytes are the most that escaping makes of one; punctuation and a number take the rest.
    JSONWriter.bytes(capacity: 6 * (limits.name + limits.value) + 64) {
      $0.field(key, value, limits: limits)
    }
  }
}

extension JSONWriter {
  /// `,"key":value`
  fileprivate mutating func field(_ key: String, _ value: FieldValue, limits: LineLimits) {
    append(",")
    string(key, limit: limits.name)
    append(":")
    switch value {
    case .string(let text): string(text, limit: limits.value)
    case .integer(let number): integer(number)
    case .double(let number): double(number)
    case .boolean(let flag): append(flag ? "true" : "false")
    }
  }
}
