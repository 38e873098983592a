/// How many series a labelled family may hold, and for how long.
public struct SeriesOptions: Sendable, Hashable {
  /// The most series of the family. What would exceed it goes into one further series, whose only label is
  /// `otel_metric_overflow="true"`, and counts in `session_tap_series_overflow_total`. With 0 or less everything does.
  public var limit: Int

  /// How long a series stays in which nothing is recorded; `nil`, the default, keeps it for good.
  ///
  /// Scrapes look for idle series. A handle that the app keeps stays good: a series in which it is recorded again
  /// comes back with all it had. With zero or less a series is shown by those scrapes alone before which something was
  /// recorded in it.
  public var idleExpiry: Duration?

  /// 2,000 series, the default of the OpenTelemetry metrics SDK, without expiry.
  public init(limit: Int = 2_000, idleExpiry: Duration? = nil) {
    self.limit = limit
    self.idleExpiry = idleExpiry
  }
}
