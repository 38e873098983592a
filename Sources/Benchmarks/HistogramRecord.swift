import Dispatch
import Foundation
import SessionTap
import Synchronization

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
      let threads = max(2, ProcessInfo.processInfo.activeProcessorCount)
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

extension Benchmark {
  /// The 99th percentile of one record, clock included, while eight threads record in one series and the
  /// registry is scraped without pause; beside the same without scrapes.
  static let recordP99UnderScrape = Benchmark(
    "record.p99_under_scrape", unit: "ns", reference: "without scrapes", rounds: 5,
    value: { try percentile(scrapes: true) }, referenceValue: { try percentile(scrapes: false) })

  private static let threadCount = 8
  private static let recordsPerThread = 50_000

  private static func percentile(scrapes: Bool) throws -> Double {
    let registry = Registry()
    let family = try registry.histogram("duration_seconds", help: "", by: Kind.self)
    for number in 0..<500 {
      for value in Samples.durations.prefix(200) { family[Kind(number: number)].record(value) }
    }
    let histogram = family[Kind(number: 0)]
    let isOver = Atomic<Bool>(false)
    let times = Mutex<[Double]>([])
    let recorders = DispatchGroup()
    let scraper = DispatchGroup()
    if scrapes {
      scraper.enter()
      Thread.detachNewThread {
        while !isOver.load(ordering: .relaxed) { _ = registry.exposition() }
        scraper.leave()
      }
    }
    for _ in 0..<threadCount {
      recorders.enter()
      Thread.detachNewThread {
        let own = (0..<recordsPerThread).map { index in
          Stopwatch.nanoseconds(per: 1) { histogram.record(Samples.durations[index & 65_535]) }
        }
        times.withLock { $0 += own }
        recorders.leave()
      }
    }
    recorders.wait()
    isOver.store(true, ordering: .relaxed)
    scraper.wait()
    let sorted = times.withLock { $0 }.sorted()
    return sorted[sorted.count * 99 / 100]
  }

  private struct Kind: LabelSet {
    let number: Int

    static let labels = [Label<Kind>("number", \.number)]
  }
}

extension Benchmark {
  static let histogramRecordInstructions = Benchmark(
    "histogram.record.instructions", unit: "instructions", reference: "one uncontended Mutex lock and unlock",
    rounds: 1, isUsable: Valgrind.isInstalled,
    value: { try await Valgrind.instructions(of: .record, count: 200_000) },
    referenceValue: { try await Valgrind.instructions(of: .mutex, count: 200_000) })
}
