import TapCore

/// What the `/metrics` route tells of itself.
struct ScrapeMetrics: Sendable {
  private struct Labels: LabelSet {
    let code: Int
    let format: String

    static var labels: [Label<Labels>] { [Label("code", \.code), Label("format", \.format)] }
  }

  let inFlight: Registry.Gauge
  private let scrapes: Family<Labels, Registry.Counter>
  private let duration: Registry.Histogram

  init(_ registry: Registry) throws(RegistryError) {
    scrapes = try registry.counter(
      "session_tap_scrapes_total", help: "Scrapes that were answered, or too late (503).", by: Labels.self)
    duration = try registry.histogram(
      "session_tap_scrape_duration_seconds", help: "Time from a scrape's request to its answer.",
      unit: "seconds", buckets: Self.buckets)
    inFlight = try registry.gauge(
      "session_tap_scrapes_in_flight", help: "Scrapes that wait for their answer.")
  }

  func ended(code: Int, format: ExpositionFormat, after time: Duration) {
    scrapes[Labels(code: code, format: format.rawValue)].increment()
    duration.record(time)
  }

  private static let buckets: HistogramBuckets = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
  ]
}
