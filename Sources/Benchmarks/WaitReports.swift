import SessionTap
import Synchronization

extension Benchmark {
  /// The share of a processor that a process takes in which so many requests are served, each of which waits
  /// for one that the app makes, while all come to the limit of 30 s, evenly, and are reported. Scraped once
  /// in a second, with a log.
  static let reports = Benchmark(
    "reports.20000", unit: "%", reference: "the same without reports", rounds: 1,
    value: { try await WaitReports.measure(limit: .seconds(30)).share * 100 },
    referenceValue: { try await WaitReports.measure(limit: nil).share * 100 })

  /// The longest scrape of such a process.
  static let reportsScrape = Benchmark(
    "reports.scrape.20000", unit: "ms", reference: "the same without reports", rounds: 1,
    value: { try await WaitReports.measure(limit: .seconds(30)).longestScrape * 1_000 },
    referenceValue: { try await WaitReports.measure(limit: nil).longestScrape * 1_000 })
}

private enum WaitReports {
  private final class Progress: RequestProgressSource {
    let wait: RequestWait
    init(wait: RequestWait) { self.wait = wait }

    var progress: RequestProgress { RequestProgress(wait: wait) }
    func look(then done: @escaping @Sendable () -> Void) { done() }
  }

  /// The log writes 100 of them in a minute.
  private final class Reports: RequestConsumer {
    let count = Atomic(0)

    func requestStarted(_ request: RequestDescription) {}
    func requestEnded(_ observation: RequestObservation) {}
    func requestWaits(_ request: RequestSnapshot) { count.add(1, ordering: .relaxed) }
  }

  private struct Failure: Error, CustomStringConvertible {
    var description: String { "hardly any request was reported" }
  }

  private static let (count, seconds) = (20_000, 5)

  static func measure(limit: Duration?) async throws -> (share: Double, longestScrape: Double) {
    let (registry, log, reports) = (Registry(), try RequestLog(to: .memory), Reports())
    var configuration = RequestConfiguration()
    configuration.waitingLimit = limit
    let recorder = try RequestRecorder(
      registry: registry, outbound: configuration, inbound: configuration, consumers: [log, reports])
    let records = begin(recorder)
    recorder.drain()
    let (clock, processor) = (ContinuousClock(), Stopwatch.processorSeconds)
    var longest = Duration.zero
    let elapsed = try await clock.measure {
      for _ in 0..<seconds {
        try await Task.sleep(for: .seconds(1))
        longest = max(longest, clock.measure { _ = registry.exposition() })
      }
    }
    let share = (Stopwatch.processorSeconds - processor) / (elapsed / .seconds(1))
    for record in records { record.end(.cancelled) }
    recorder.drain()
    log.shutdown()
    guard limit == nil || reports.count.load(ordering: .relaxed) > count / 5 else { throw Failure() }
    return (share, longest / .seconds(1))
  }

  /// Requests that come to their limit one after another in the next 30 s.
  private static func begin(_ recorder: RequestRecorder) -> [RequestRecord] {
    let now = Instant.now
    var records: [RequestRecord] = []
    for index in 0..<count {
      let age = Duration.seconds(30) * (count - index) / count
      let trace = TraceContext.random()
      let served = RequestRecord(
        RequestDescription(direction: .inbound, method: "GET", url: "/events", traceContext: trace),
        recorder: recorder, progress: Progress(wait: .handler))
      let call = RequestRecord(
        RequestDescription(
          client: "client", method: "GET", url: "http://upstream.example/events",
          serverAddress: "upstream.example", traceContext: trace.child().within(served)),
        recorder: recorder, progress: Progress(wait: .response))
      for record in [served, call] {
        record.begin(at: Instant(nanoseconds: now.nanoseconds - age.nanoseconds))
        records.append(record)
      }
    }
    return records
  }
}
