import SessionTap

extension Benchmark {
  /// A scrape of 10,000 series of active requests with an active request in each; beside one after their
  /// ends.
  static let scrapeActive = Benchmark(
    "scrape.active", unit: "ms", reference: "the same series without them",
    value: { try milliseconds { _ in } },
    referenceValue: { try milliseconds { records in for record in records { record.end(.cancelled) } } })

  private static let count = 10_000

  private static func milliseconds(_ change: ([RequestRecord]) -> Void) throws -> Double {
    let registry = Registry()
    var outbound = RequestConfiguration()
    outbound.series.limit = count
    let recorder = try RequestRecorder(registry: registry, outbound: outbound)
    let records = makeRecords(recorder)
    recorder.drain()
    change(records)
    recorder.drain()
    _ = registry.exposition()
    let time = Stopwatch.nanoseconds(per: 5) { for _ in 0..<5 { _ = registry.exposition() } } / 1e6
    for record in records { record.end(.cancelled) }
    return time
  }

  private static func makeRecords(_ recorder: RequestRecorder) -> [RequestRecord] {
    (0..<count).map { number in
      let record = RequestRecord(
        RequestDescription(
          client: "client", method: "GET", url: "http://service-\(number).example.com/",
          serverAddress: "service-\(number).example.com"),
        recorder: recorder)
      record.begin()
      return record
    }
  }

  /// Heap memory that the table of active requests takes for each of 10,000 requests; beside what is left
  /// of it after their ends.
  static let activeBytes = Benchmark(
    "active.bytes", unit: "B", reference: "what is left after their ends", rounds: 3,
    value: { try bytes(areEnded: false) }, referenceValue: { try bytes(areEnded: true) })

  private static func bytes(areEnded: Bool) throws -> Double {
    let records = makeRecords(try RequestRecorder(registry: Registry()))
    // With metrics of its own, in which the series exist already, so that only the table of requests grows.
    let metrics = try RequestMetrics(.outbound)
    let observation = RequestSamples.observations[0]
    metrics.record(observation)
    let before = try Heap.bytesInUse()
    let start = Instant.now
    for record in records {
      metrics.withLock { $0.active.add(record, at: start, in: $0.begin(observation.request)) }
    }
    if areEnded {
      for record in records { metrics.withLock { $0.active.remove(record, since: start) } }
    }
    let after = try Heap.bytesInUse()
    withExtendedLifetime((records, metrics)) {}
    return Double(after - before) / Double(count)
  }
}
