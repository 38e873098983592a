/// Splits a command line into options and operands: `--name value`, `--name=value`, `--`.
struct Arguments {
  /// The options in their order.
  private(set) var options: [(name: String, value: String)] = []
  /// The other words.
  private(set) var operands: [String] = []

  /// - Parameter names: The names of the options. Each has a value.
  init(_ words: some Sequence<String>, names: Set<String>) throws(UsageError) {
    var rest = Array(words)[...]
    while let word = rest.popFirst() {
      guard word.hasPrefix("-"), word != "-" else {
        operands.append(word)
        continue
      }
      if word == "--" {
        operands += rest
        return
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let name = parts[0]
      guard names.contains(name) else { throw UsageError("unknown option \(name)") }
      guard let value = parts.count > 1 ? parts[1] : rest.popFirst() else {
        throw UsageError("\(name) needs a value")
      }
      options.append((name, value))
    }
  }
}

/// Reads the values of options.
enum OptionValue {
  static func integer(_ text: String, of name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
    guard let value = Int(text), range.contains(value) else {
      throw UsageError(
        "\(name) takes a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    }
    return value
  }

  /// `on` or `off`.
  static func isOn(_ text: String, of name: String) throws(UsageError) -> Bool {
    switch text {
    case "on": return true
    case "off": return false
    default: throw UsageError("\(name) takes on or off, not '\(text)'")
    }
  }

  /// A number with a unit: `ms`, `s`, `m` or `h`. Without one it means seconds.
  static func duration(_ text: String, of name: String) throws(UsageError) -> Duration {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let seconds: [Substring: Double] = ["": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600]
    guard let number = Double(digits), let unit = seconds[text[digits.endIndex...]] else {
      throw UsageError("\(name) takes a time such as 30s, 500ms or 2m, not '\(text)'")
    }
    // A year: far from where clocks and conversions overflow.
    guard (0.001...31_536_000).contains(number * unit) else {
      throw UsageError("\(name) takes a time between 1ms and a year, not '\(text)'")
    }
    return .seconds(number * unit)
  }
}

/// The mistake in a command line, in one line.
struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
