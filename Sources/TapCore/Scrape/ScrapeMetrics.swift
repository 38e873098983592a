/// What scrapes cost: `session_tap_scrapes_total`, `session_tap_scrape_duration_seconds` and
/// `session_tap_scrapes_in_flight`.
struct ScrapeMetrics: Sendable {
  private let scrapes: Family<Outcome, Counter>
  private let duration: Histogram
  private let inFlight: Gauge

  init(registry: Registry) throws(RegistryError) {
    scrapes = try registry.counter(
      "session_tap_scrapes_total", help: "Scrapes that were answered, by status code and format.",
      by: Outcome.self)
    duration = try registry.histogram(
      "session_tap_scrape_duration_seconds", help: "Time from a scrape's arrival to its answer.",
      unit: "seconds", buckets: Self.buckets)
    inFlight = try registry.gauge(
      "session_tap_scrapes_in_flight", help: "Scrapes that wait for their answer.")
  }

  func started() {
    inFlight.increment()
  }

  func answered(_ format: ExpositionFormat, after elapsed: Duration) {
    inFlight.decrement()
    duration.record(elapsed)
    count(code: 200, format: format)
  }

  func count(code: Int, format: ExpositionFormat?) {
    scrapes[Outcome(code: code, format: format?.rawValue)].increment()
  }

  private static let buckets: HistogramBuckets = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
  ]

  private struct Outcome: LabelSet {
    let code: Int
    let format: String?

    static let labels: [Label<Outcome>] = [Label("code", \.code), Label("format", \.format)]
  }
}
