import SessionTap

extension Benchmark {
  /// A scrape of 10,000 series of active requests with a request under way in each; beside one after their
  /// ends.
  static let scrapeUnderWay = Benchmark(
    "scrape.under_way", unit: "ms", reference: "the same series without them",
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

  /// Heap memory that the table of what is under way takes for each of 10,000 requests; beside what is left
  /// of it after their ends.
  static let underWayBytes = Benchmark(
    "under_way.bytes", unit: "B", reference: "what is left after their ends", rounds: 3,
    value: { try bytes(areEnded: false) }, referenceValue: { try bytes(areEnded: true) })

  private static func bytes(areEnded: Bool) throws -> Double {
    let records = makeRecords(try RequestRecorder(registry: Registry()))
    // Of a recorder of its own, which finds the series there and lists the requests alone.
    let metrics = try RequestMetrics(.outbound)
    let observation = RequestSamples.observations[0]
    metrics.end(observation, metrics.begin(observation.request))
    let before = try Heap.bytesInUse()
    let series = records.map { metrics.begin(observation.request, at: .now, listing: $0) }
    if areEnded {
      for (record, series) in zip(records, series) { metrics.end(observation, series, listed: record) }
    }
    let after = try Heap.bytesInUse()
    let array = withExtendedLifetime((records, metrics)) { MemoryLayout<RequestSeries>.stride * series.count }
    return Double(after - before - array) / Double(count)
  }
}
