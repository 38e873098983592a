/// How many series a labelled family may hold.
public struct SeriesOptions: Sendable, Hashable {
  /// The most series of the family. What would exceed it goes into one further series, whose only label is
  /// `otel_metric_overflow="true"`, and counts in `session_tap_series_overflow_total`.
  public var limit: Int

  /// 2,000 series, the default of the OpenTelemetry metrics SDK.
  public init(limit: Int = 2_000) {
    self.limit = limit
  }
}
