import Synchronization
import TapCore

/// What the page gets as JSON. Those that ask within a second share it, so that readers who are slow or many
/// take little.
final class SharedAnswer: Sendable {
  /// The last answer, and when it was written.
  private let written = Mutex<(bytes: [UInt8], at: Instant)?>(nil)

  func bytes(at now: Instant, _ write: () -> String) -> [UInt8] {
    if let written = written.withLock({ $0 }), now.nanoseconds &- written.at.nanoseconds < 1_000_000_000 {
      return written.bytes
    }
    let bytes = Array(write().utf8)
    written.withLock { $0 = (bytes, now) }
    return bytes
  }
}

/// Parts of JSON.
enum JSONText {
  static func list(_ elements: [String]) -> String { "[\(elements.joined(separator: ","))]" }

  /// Escapes what RFC 8259, section 7 demands: quotation mark, backslash and the control characters.
  static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "\"", "\\": escaped += "\\\(scalar)"
      case ..<" ": escaped += "\\u00\(scalar.value < 16 ? "0" : "")\(String(scalar.value, radix: 16))"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
  }
}
