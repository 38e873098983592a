import Foundation

/// A value and a reference, measured in alternating rounds of the same run.
struct Benchmark: Sendable {
  /// Measures once and gives one number.
  typealias Measurement = @Sendable () async throws -> Double

  /// Stable: scripts read it. Parts are separated by dots, the subject first.
  let name: String
  /// `ns`, `ms`, `B`.
  let unit: String
  let reference: String
  /// The number of measurements of each of the two.
  let rounds: Int
  /// Whether the tools that it needs are installed.
  let isUsable: Bool
  private let value: Measurement
  private let referenceValue: Measurement

  init(
    _ name: String, unit: String, reference: String, rounds: Int = 15, isUsable: Bool = true,
    value: @escaping Measurement, referenceValue: @escaping Measurement
  ) {
    (self.name, self.unit, self.reference, self.rounds) = (name, unit, reference, rounds)
    (self.isUsable, self.value, self.referenceValue) = (isUsable, value, referenceValue)
  }

  func run() async throws -> BenchmarkResult {
    // The first round warms up, unless the value is measured only once.
    if rounds > 1 { _ = try await (referenceValue(), value()) }
    var values: [Double] = []
    var references: [Double] = []
    for round in 0..<rounds {
      // Each goes first equally often: what a round leaves behind affects both alike.
      if !round.isMultiple(of: 2) { values.append(try await value()) }
      references.append(try await referenceValue())
      if round.isMultiple(of: 2) { values.append(try await value()) }
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

  var row: String {
    Self.row(
      name, "\(rounded(value)) \(unit)", reference, "\(rounded(referenceValue)) \(unit)", rounded(ratio))
  }

  static var header: String {
    row("name", "value", "beside", "value", "ratio")
  }

  private static func row(
    _ name: String, _ value: String, _ reference: String, _ referenceValue: String, _ ratio: String
  ) -> String {
    func pad(_ text: String, _ width: Int) -> String {
      text + String(repeating: " ", count: max(0, width - text.count))
    }
    func padLeft(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    return pad(name, 32) + padLeft(value, 18) + "  " + pad(reference, 40) + padLeft(referenceValue, 18)
      + padLeft(ratio, 10)
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

  /// Names and units have no control characters: only quotes and backslashes are escaped (RFC 8259, section
  /// 7).
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

  /// The processor time of this process so far, of all threads.
  static var processorSeconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }
}
