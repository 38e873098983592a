import Dispatch
import SessionTap

extension Benchmark {
  /// One record, beside what no lock can be cheaper than.
  static let histogramRecordOneThread = Benchmark(
    "histogram.record.one_thread", unit: "ns", reference: "one uncontended Mutex lock and unlock",
    value: {
      let histogram = try Registry().histogram("duration_seconds", help: "")
      warmUp(histogram)
      return record(in: histogram)
    },
    referenceValue: { UncontendedMutex.nanoseconds })

  /// All cores in one series: wall-clock time per operation, beside that of one thread alone.
  static let histogramRecordAllThreads = Benchmark(
    "histogram.record.all_threads", unit: "ns", reference: "one thread",
    value: {
      let histogram = try Registry().histogram("duration_seconds", help: "")
      warmUp(histogram)
      let threads = max(2, Cores.count)
      return Stopwatch.nanoseconds(per: operations * threads) {
        DispatchQueue.concurrentPerform(iterations: threads) { _ in _ = record(in: histogram) }
      }
    },
    referenceValue: {
      let histogram = try Registry().histogram("duration_seconds", help: "")
      warmUp(histogram)
      return record(in: histogram)
    })

  private static let operations = 1_000_000

  /// The first values settle the histogram's resolution.
  private static func warmUp(_ histogram: Registry.Histogram) {
    for value in Samples.durations { histogram.record(value) }
  }

  private static func record(in histogram: Registry.Histogram) -> Double {
    let samples = Samples.durations
    return Stopwatch.nanoseconds(per: operations) {
      for index in 0..<operations { histogram.record(samples[index & 65_535]) }
    }
  }
}
