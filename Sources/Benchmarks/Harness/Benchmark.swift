/// One figure and what it stands beside, measured in alternating rounds of the same run.
struct Benchmark: Sendable {
  /// Measures once and gives one number.
  typealias Measurement = @Sendable () async throws -> Double

  /// Stable: scripts read it. Parts are separated by dots, the subject first.
  let name: String
  /// The unit of both numbers: `ns`, `ms`, `B`.
  let unit: String
  /// What the reference is, in a few words.
  let reference: String
  /// How often each of the two is measured.
  let rounds: Int
  /// What it needs is there.
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
