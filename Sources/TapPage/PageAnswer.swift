import Synchronization
import TapCore

/// What the endpoint answers about the requests. Those that ask for the same within a second share the
/// answer, so that readers who are slow or many take little.
final class PageAnswers: Sendable {
  private static let limit = 16

  private let written = Mutex<[String: (bytes: [UInt8], at: Instant)]>([:])

  func bytes(for question: String = "", at now: Instant, _ write: () -> String) -> [UInt8] {
    func isNew(_ at: Instant) -> Bool { now.nanoseconds &- at.nanoseconds < 1_000_000_000 }
    if let written = written.withLock({ $0[question] }), isNew(written.at) { return written.bytes }
    let bytes = Array(write().utf8)
    written.withLock {
      if $0.count >= Self.limit { $0 = $0.filter { isNew($0.value.at) } }
      if $0.count < Self.limit { $0[question] = (bytes, now) }
    }
    return bytes
  }
}

/// JSON as text. A member or a number that is `nil` is left out.
struct JSON: CustomStringConvertible {
  let description: String

  static func number(_ number: (some CustomStringConvertible)?) -> JSON? {
    number.map { JSON(description: $0.description) }
  }

  /// Seconds, in whole milliseconds.
  static func time(_ time: Duration?) -> JSON? {
    .number(time.map { Double(max(0, $0.nanoseconds) / 1_000_000) / 1e3 })
  }

  /// Microseconds since the epoch, rounded down as in the log's lines.
  static func time(_ time: Timestamp) -> JSON? {
    .number(time.nanosecondsSinceEpoch.flooredQuotientAndRemainder(by: 1_000).quotient)
  }

  /// Escapes what RFC 8259, section 7 demands: quotation mark, backslash and the control characters.
  static func text(_ text: String?) -> JSON? {
    guard let text else { return nil }
    let escaped = text.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "\"", "\\": escaped += "\\\(scalar)"
      case ..<" ": escaped += "\\u00\(scalar.value < 16 ? "0" : "")\(String(scalar.value, radix: 16))"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return JSON(description: "\"\(escaped)\"")
  }

  static func list(_ elements: [some CustomStringConvertible]) -> JSON {
    JSON(description: "[\(elements.map(\.description).joined(separator: ","))]")
  }

  static func object(_ members: [(key: String, value: JSON?)]) -> JSON {
    let members = members.compactMap { key, value in value.map { "\"\(key)\":\($0)" } }
    return JSON(description: "{\(members.joined(separator: ","))}")
  }
}
