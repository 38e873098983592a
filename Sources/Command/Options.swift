import Foundation

struct Options {
  // Of both.
  private(set) var port = 9464
  private(set) var log = "requests.jsonl"

  // Of `demo`.
  private(set) var rate = 20
  private(set) var requests: Int?
  private(set) var duration: Duration?
  private(set) var hasFaults = true

  // Of `probe`.
  private(set) var every = Duration.seconds(5)
  private(set) var count: Int?
  private(set) var timeout = Duration.seconds(10)
  private(set) var urls: [URL] = []

  /// Reads `--name value` and `--name=value`. Behind `--` are operands alone.
  init(ofDemo words: some Sequence<String>) throws(UsageError) {
    let operands = try read(words, names: ["--rate", "--requests", "--duration", "--faults"])
    if let operand = operands.first { throw UsageError("demo takes no operand: '\(operand)'") }
  }

  /// The operands are URLs.
  init(ofProbe words: some Sequence<String>) throws(UsageError) {
    for operand in try read(words, names: ["--every", "--count", "--timeout"]) {
      guard let url = URL(string: operand), url.scheme == "http" || url.scheme == "https",
        url.host?.isEmpty == false
      else { throw UsageError("probe takes http and https URLs, not '\(operand)'") }
      urls.append(url)
    }
    guard !urls.isEmpty else { throw UsageError("probe needs at least one URL") }
  }

  private mutating func read(
    _ words: some Sequence<String>, names: Set<String>
  ) throws(UsageError) -> [String] {
    let names = names.union(["--port", "--log"])
    var operands: [String] = []
    var (rest, takesOptions) = (Array(words)[...], true)
    while let word = rest.popFirst() {
      if takesOptions, word == "--" {
        takesOptions = false
      } else if takesOptions, word.hasPrefix("-"), word != "-" {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
          String.init)
        guard names.contains(parts[0]) else { throw UsageError("unknown option \(parts[0])") }
        guard let value = parts.count > 1 ? parts[1] : rest.popFirst() else {
          throw UsageError("\(parts[0]) needs a value")
        }
        try set(parts[0], value)
      } else {
        operands.append(word)
      }
    }
    return operands
  }

  private mutating func set(_ name: String, _ value: String) throws(UsageError) {
    switch name {
    case "--port": port = try Self.integer(value, of: name, in: 0...65_535)
    case "--log":
      guard !value.isEmpty else { throw UsageError("--log needs a path, '-' or 'off'") }
      log = value
    case "--rate": rate = try Self.integer(value, of: name, in: 1...2_000)
    case "--requests": requests = try Self.integer(value, of: name, in: 0...1_000_000_000)
    case "--duration": duration = try Self.duration(value, of: name)
    case "--faults":
      hasFaults = value == "on"
      if !hasFaults, value != "off" { throw UsageError("--faults takes on or off, not '\(value)'") }
    case "--every": every = try Self.duration(value, of: name)
    case "--count": count = try Self.integer(value, of: name, in: 1...1_000_000_000)
    default: timeout = try Self.duration(value, of: name)
    }
  }

  private static func integer(
    _ text: String, of name: String, in range: ClosedRange<Int>
  ) throws(UsageError) -> Int {
    guard let value = Int(text), range.contains(value) else {
      throw UsageError(
        "\(name) takes a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    }
    return value
  }

  /// A number with a unit: `ms`, `s`, `m` or `h`. Without one it means seconds.
  private static func duration(_ text: String, of name: String) throws(UsageError) -> Duration {
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
