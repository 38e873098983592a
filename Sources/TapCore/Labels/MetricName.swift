/// The rules for names (Prometheus data model, "Metric names and labels").
enum MetricName {
  /// `[a-zA-Z_:][a-zA-Z0-9_:]*`
  static func isValid(_ name: String) -> Bool {
    matches(name) { isLetter($0) || $0 == UInt8(ascii: ":") }
  }

  /// `[a-zA-Z_][a-zA-Z0-9_]*`, without the two leading underscores that Prometheus keeps for itself.
  static func isValidLabel(_ name: String) -> Bool {
    matches(name, isLetter) && !name.hasPrefix("__")
  }

  private static func matches(_ name: String, _ isHead: (UInt8) -> Bool) -> Bool {
    guard let first = name.utf8.first, isHead(first) else { return false }
    return name.utf8.dropFirst().allSatisfy {
      isHead($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
    }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }
}
