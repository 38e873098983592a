/// Every benchmark, in the order in which they run. One line each.
enum AllBenchmarks {
  static let list: [Benchmark] = [
    .histogramRecordOneThread,
    .histogramRecordAllThreads,
    .requestTappedC1,
    .requestTappedC8,
    .downloadTapped,
  ]
}
