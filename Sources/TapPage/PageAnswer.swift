import Synchronization
import TapCore

/// What the page gets as JSON. Those that ask within a second share it, so that readers who are slow or many
/// take little.
final class PageAnswer: Sendable {
  private let written = Mutex<(bytes: [UInt8], at: Instant)?>(nil)

  func bytes(at now: Instant, _ write: () -> JSON) -> [UInt8] {
    if let written = written.withLock({ $0 }), now.nanoseconds &- written.at.nanoseconds < 1_000_000_000 {
      return written.bytes
    }
    let bytes = Array("\(write())\n".utf8)
    written.withLock { $0 = (bytes, now) }
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
