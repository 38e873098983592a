/// A value and a reference, measured in alternating rounds of the same run.
struct Benchmark: Sendable {
  /// Measures once and gives one number.
  typealias Measurement = @Sendable () async throws -> Double

  /// Stable: scripts read it. Parts are separated by dots, the subject first.
  let name: String
  /// The unit of both numbers: `ns`, `ms`, `B`.
  let unit: String
  /// The reference, in a few words.
  let reference: String
  /// The number of measurements of each of the two.
  let rounds: Int
  /// Whether the tools that it needs are installed.
  let isUsable: Bool
  private let measureValue: Measurement
  private let measureReference: Measurement

  init(
    _ name: String, unit: String, reference: String, rounds: Int = 15, isUsable: Bool = true,
    value: @escaping Measurement,
    referenceValue: @escaping Measurement
  ) {
    self.name = name
    self.unit = unit
    self.reference = reference
    self.rounds = max(1, rounds)
    self.isUsable = isUsable
    measureValue = value
    measureReference = referenceValue
  }

  /// The median of the alternating rounds, after one of each that does not count. What is measured only once needs
  /// no such round: it is the same every time.
  func run() async throws -> BenchmarkResult {
    if rounds > 1 {
      _ = try await measureReference()
      _ = try await measureValue()
    }
    var values: [Double] = []
    var references: [Double] = []
    for round in 0..<rounds {
      // Each goes first as often as the other: what a round leaves behind weighs on both alike.
      if round.isMultiple(of: 2) {
        references.append(try await measureReference())
        values.append(try await measureValue())
      } else {
        values.append(try await measureValue())
        references.append(try await measureReference())
      }
    }
    return BenchmarkResult(
      name: name, unit: unit, reference: reference, value: median(of: values),
      referenceValue: median(of: references), ratio: median(of: zip(values, references).map(/)))
  }

  private func median(of values: [Double]) -> Double {
    let sorted = values.sorted()
    return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
  }
}

/// The result of a benchmark.
struct BenchmarkResult: Sendable {
  let name: String
  let unit: String
  let reference: String
  let value: Double
  let referenceValue: Double
  /// The median of the ratios of the rounds: a machine that slows down for a while slows both.
  let ratio: Double

  /// One JSON object on one line.
  var json: String {
    let members = [
      ("name", quoted(name)), ("value", number(value)), ("unit", quoted(unit)),
      ("reference", quoted(reference)), ("reference_value", number(referenceValue)), ("ratio", number(ratio)),
    ]
    return "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
  }

  /// One row of the table.
  var row: String {
    let figures = "\(rounded(value)) \(unit)"
    return pad(name, 32) + pad(figures, 18, right: true) + "  "
      + pad(reference, 40) + pad("\(rounded(referenceValue)) \(unit)", 18, right: true)
      + pad(rounded(ratio), 10, right: true)
  }

  /// The head of the table.
  static var header: String {
    BenchmarkResult.pad("name", 32) + pad("value", 18, right: true) + "  " + pad("beside", 40)
      + pad("value", 18, right: true) + pad("ratio", 10, right: true)
  }

  private func pad(_ text: String, _ width: Int, right: Bool = false) -> String {
    Self.pad(text, width, right: right)
  }

  private static func pad(_ text: String, _ width: Int, right: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - text.count))
    return right ? space + text : text + space
  }

  /// JSON has no infinity and no NaN (RFC 8259, section 6).
  private func number(_ value: Double) -> String {
    value.isFinite ? value.description : "null"
  }

  private func rounded(_ value: Double) -> String {
    guard value.isFinite else { return "-" }
    let digits = value < 10 ? 1_000.0 : 10.0
    return ((value * digits).rounded() / digits).description
  }

  /// Names and units have no control characters: only quotes and backslashes are escaped (RFC 8259, section 7).
  private func quoted(_ text: String) -> String {
    let escaped = text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }
    return "\"" + escaped.joined() + "\""
  }
}

/// Measures time on the monotonic clock.
enum Stopwatch {
  /// Nanoseconds for each of `count` operations that `body` makes.
  @inline(__always)
  static func nanoseconds(per count: Int, _ body: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try body()
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return (Double(seconds) * 1e9 + Double(attoseconds) * 1e-9) / Double(count)
  }
}
