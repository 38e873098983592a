/// The limit and the expiry of a family's series.
public struct SeriesConfiguration: Sendable, Hashable {
  /// The maximum number of series. Further label sets share one series, whose only label is
  /// `otel_metric_overflow="true"`, and count in `session_tap_series_overflow_total`. With 0 or less, all do.
  public var limit: Int

  /// How long an idle series stays. `nil`, the default, keeps it forever.
  ///
  /// A scrape removes the series in which nothing has been recorded for so long. A series whose instrument
  /// the app still holds stays; a weak reference does not hold it. With zero or less, a series is exposed
  /// only by the first scrape after its last record.
  public var idleExpiry: Duration?

  /// 2,000 series, the default of the OpenTelemetry metrics SDK, without expiry.
  public init(limit: Int = 2_000, idleExpiry: Duration? = nil) {
    (self.limit, self.idleExpiry) = (limit, idleExpiry)
  }
}
