extension Benchmark {
  /// Instructions of one record.
  static let histogramRecordInstructions = Benchmark(
    "histogram.record.instructions", unit: "instructions", reference: "one uncontended Mutex lock and unlock",
    rounds: 1, isUsable: InstructionCount.valgrind != nil,
    value: { try InstructionCount.perOperation(.record, count: 200_000) },
    referenceValue: { try InstructionCount.perOperation(.mutex, count: 200_000) })

  /// Instructions of the text exposition of 1,000 series.
  static let expositionTextInstructions = Benchmark(
    "exposition.text.1000.instructions", unit: "instructions", reference: "a memcpy of the same bytes",
    rounds: 1, isUsable: InstructionCount.valgrind != nil,
    value: { try InstructionCount.perOperation(.exposition, count: 10) },
    referenceValue: { try InstructionCount.perOperation(.memcpy, count: 10) })
}
