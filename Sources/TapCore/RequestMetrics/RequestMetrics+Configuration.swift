extension RequestMetrics {
  /// What can be chosen, with its defaults.
  public struct Configuration: Sendable, Hashable {
    /// The buckets of `http_client_request_duration_seconds`, in seconds.
    public var durationBuckets: HistogramBuckets = .seconds
    /// The buckets of `http_client_request_phase_duration_seconds`, in seconds: from 0.5 ms to 10 s.
    public var phaseBuckets = HistogramBuckets([
      0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ])
    /// The buckets of both body sizes, in bytes.
    public var bodySizeBuckets: HistogramBuckets = .bytes
    /// The methods that appear as themselves; any other is `_OTHER`, and with an empty list every one. Names that are
    /// empty or longer than 256 bytes, and those after the first 256, do not count. By default those of RFC 9110, PATCH
    /// (RFC 5789) and QUERY.
    public var knownMethods = KnownMethods.standard
    /// How many series each metric may hold, and for how long.
    public var series = SeriesOptions()

    /// The defaults.
    public init() {}
  }
}
