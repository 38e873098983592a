/// The limit and the expiry of a family's series.
public struct SeriesConfiguration: Sendable, Hashable {
  /// The maximum number of series. Further label sets share one series, whose only label is
  /// `otel_metric_overflow="true"`, and count in `session_tap_series_overflow_total`. With 0 or less, all do.
  public var limit: Int

  /// How long an idle series stays. `nil`, the default, keeps it forever.
  ///
  /// Scrapes remove idle series. An instrument that the app has kept stays usable: its series returns with
  /// its values at the next record. If the family is full by then, the new records move to the overflow
  /// series. With zero or less, a series is exposed only by the first scrape after a record.
  public var idleExpiry: Duration?

  /// 2,000 series, the default of the OpenTelemetry metrics SDK, without expiry.
  public init(limit: Int = 2_000, idleExpiry: Duration? = nil) {
    (self.limit, self.idleExpiry) = (limit, idleExpiry)
  }
}
