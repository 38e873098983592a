import SessionTap

extension Benchmark {
  /// What the history for the page costs in five seconds of an app that makes 1,000 requests a second, for
  /// 2,000 series: to record them, and to read it once. Beside the request metrics without it.
  static let pageHistorySample = Benchmark(
    "page.history.sample", unit: "ms", reference: "the same requests without a history",
    value: { try milliseconds(historyStart: .now) }, referenceValue: { try milliseconds(historyStart: nil) })

  private static func milliseconds(historyStart: Instant?) throws -> Double {
    let metrics = try RequestMetrics(.outbound, historyStart: historyStart)
    let requests = manySeries
    for request in requests { metrics.record(request) }
    return requests.withUnsafeBufferPointer { requests in
      Stopwatch.nanoseconds(per: 1) {
        for index in 0..<requestCount {
          metrics.record(requests[index % requests.count])
        }
        _ = metrics.withLock { $0.history(at: .now) }
      }
    } / 1e6
  }

  private static let requestCount = 5_000

  /// A request for each of 2,000 series: 100 hosts, 20 templates each.
  private static let manySeries: [RequestObservation] = (0..<2_000).map { index in
    var observation = RequestSamples.observations[index & 1_023]
    observation.request.serverAddress = "service-\(index % 100).internal.example.com"
    observation.request.urlTemplate = "/v1/things/\(index / 100)/{id}"
    return observation
  }
}
