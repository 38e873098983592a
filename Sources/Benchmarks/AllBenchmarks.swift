/// Every benchmark, in the order in which they run. One line each.
enum AllBenchmarks {
  static let list: [Benchmark] = [
    .histogramRecordOneThread,
    .histogramRecordAllThreads,
    .histogramRecordInstructions,
    .requestTappedC1,
    .requestTappedC8,
    .downloadTapped,
    .requestAllocations,
    .accountRead,
    .observationRecord,
    .observationP99UnderAttack,
    .inboundRecord,
    .recordP99UnderScrape,
    .seriesBytes,
    .expositionText1000,
    .expositionTextInstructions,
    .expositionScaling,
    .logEncode,
    .logEnqueue,
    .logThroughput,
  ]
}
