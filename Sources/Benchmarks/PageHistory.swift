import SessionTap
import TapPage

extension Benchmark {
  /// What the history for the page costs in five seconds of an app that makes 1,000 requests a second, for 2,000 series: to
  /// record them, and to write the answer to one page. Beside the request metrics of the same requests.
  static let pageHistorySample = Benchmark(
    "page.history.sample", unit: "ms", reference: "the request metrics of the same requests",
    value: {
      let history = RequestHistory(outbound: .init(), inbound: .init())
      let requests = manySeries
      // The parties have their places.
      for request in requests { history.requestEnded(request) }
      return requests.withUnsafeBufferPointer { requests in
        Stopwatch.nanoseconds(per: 1) {
          for index in 0..<requestCount {
            history.requestEnded(requests[index % requests.count])
          }
          _ = history.json()
        }
      } / 1e6
    },
    referenceValue: {
      let metrics = try RequestMetrics(.outbound)
      let requests = manySeries
      for request in requests { metrics.end(request, metrics.begin(request.request)) }
      return requests.withUnsafeBufferPointer { requests in
        Stopwatch.nanoseconds(per: 1) {
          for index in 0..<requestCount {
            let request = requests[index % requests.count]
            metrics.end(request, metrics.begin(request.request))
          }
        }
      } / 1e6
    })

  private static let requestCount = 5_000

  /// A request for each of 2,000 series: 100 hosts, 20 templates each.
  private static let manySeries: [RequestObservation] = (0..<2_000).map { index in
    var observation = RequestSamples.observations[index & 1_023]
    observation.request.serverAddress = "service-\(index % 100).internal.example.com"
    observation.request.urlTemplate = "/v1/things/\(index / 100)/{id}"
    return observation
  }
}
