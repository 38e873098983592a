extension Array where Element == UInt8 {
  /// Appends a help text. 0.0.4 escapes the backslash and the line feed, OpenMetrics the double quote too.
  mutating func append(escapedHelp help: String, quotes: Bool) {
    for byte in help.utf8 {
      switch byte {
      case UInt8(ascii: "\\"): append(contentsOf: "\\\\".utf8)
      case UInt8(ascii: "\n"): append(contentsOf: "\\n".utf8)
      case UInt8(ascii: "\"") where quotes: append(contentsOf: "\\\"".utf8)
      default: append(byte)
      }
    }
  }
}
