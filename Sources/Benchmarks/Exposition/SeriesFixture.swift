import SessionTap

/// Registries of many series.
enum SeriesFixture {
  /// A histogram family of that many series with 14 buckets, labelled as those of requests are.
  static func make(seriesCount: Int) throws -> Registry {
    let registry = Registry()
    let family = try registry.histogram(
      "http_client_request_duration_seconds", help: "Duration of HTTP client requests.", unit: "seconds",
      by: Route.self, options: SeriesOptions(limit: seriesCount))
    for number in 0..<seriesCount {
      let histogram = family[Route(method: "GET", address: "host-\(number).example.com", status: 200)]
      for value in Samples.durations.dropFirst(number % 1_000).prefix(50) { histogram.record(value) }
    }
    return registry
  }

  private struct Route: LabelSet {
    let method: String
    let address: String
    let status: Int

    static let labels = [
      Label<Route>("http_request_method", \.method), Label<Route>("server_address", \.address),
      Label<Route>("http_response_status_code", \.status),
    ]
  }
}
