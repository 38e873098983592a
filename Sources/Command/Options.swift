import Foundation

struct Options {
  private var values: [String: String] = [:]
  private(set) var operands: [String] = []

  /// The options of all commands that observe requests.
  static let common: Set<String> = ["--port", "--log"]

  /// Reads `--name value`, `--name=value`, and flags, which have no value. Behind `--` are operands alone.
  init(_ words: some Sequence<String>, names: Set<String>, flags: Set<String> = []) throws(UsageError) {
    var (rest, takesOptions) = (Array(words)[...], true)
    while let word = rest.popFirst() {
      if takesOptions, word == "--" {
        takesOptions = false
      } else if takesOptions, word.hasPrefix("-"), word != "-" {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
          String.init)
        if flags.contains(word) {
          values[word] = ""
          continue
        }
        guard names.contains(parts[0]) else { throw UsageError("unknown option \(parts[0])") }
        guard let value = parts.count > 1 ? parts[1] : rest.popFirst() else {
          throw UsageError("\(parts[0]) needs a value")
        }
        values[parts[0]] = value
      } else {
        operands.append(word)
      }
    }
  }

  func has(_ flag: String) -> Bool { values[flag] != nil }

  func text(_ name: String) throws(UsageError) -> String? {
    if values[name]?.isEmpty == true { throw UsageError("\(name) needs a value") }
    return values[name]
  }

  func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    guard let text = values[name] else { return nil }
    guard let value = Int(text), range.contains(value) else {
      throw UsageError(
        "\(name) takes a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    }
    return value
  }

  /// A number with a unit: `ms`, `s`, `m` or `h`. Without one it means seconds.
  func duration(_ name: String) throws(UsageError) -> Duration? {
    guard let text = values[name] else { return nil }
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

struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
