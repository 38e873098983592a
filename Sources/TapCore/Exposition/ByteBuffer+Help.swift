extension ByteBuffer {
  /// Appends a help text. 0.0.4 escapes the backslash and the line feed, OpenMetrics the double quote too.
  mutating func append(escapedHelp help: String, quotes: Bool) {
    for byte in help.utf8 {
      switch byte {
      case UInt8(ascii: "\\"): append("\\\\")
      case UInt8(ascii: "\n"): append("\\n")
      case UInt8(ascii: "\"") where quotes: append("\\\"")
      default: append(byte)
      }
    }
  }
}
