/// What is recorded of the requests in one direction. The article *Metrics and limits* lists the metrics,
/// whose names are those of the OpenTelemetry HTTP conventions. At any scrape, started = ended + active.
public struct RequestConfiguration: Sendable {
  /// Whether a request is recorded. Requests that the filter excludes are sent or served unobserved.
  ///
  /// The filter runs where a request begins: for a URLSession, within `resume()`, under a lock of Foundation.
  /// It must be quick, and must not use a URLSession. It does not see a session's `httpAdditionalHeaders`,
  /// which Foundation on Linux adds later.
  public var filter: (@Sendable (RequestDescription) -> Bool)?
  /// The path templates, for the label `url_template` of requests that the app makes, and `http_route` of
  /// those that it serves. A request's own template, or the route that a framework matched, takes precedence.
  public var pathTemplates: PathTemplates = []
  /// The buckets of the duration and the time to first byte, in seconds.
  public var durationBuckets: HistogramBuckets = .seconds
  /// The buckets of `http_client_request_phase_duration_seconds`, in seconds. Fewer than those of the
  /// duration, because a request has up to eight phases.
  var phaseBuckets = HistogramBuckets([0.0005, 0.0025, 0.01, 0.05, 0.1, 0.25, 1, 2.5, 10])
  /// The buckets of `http_client_network_round_trip_seconds`, in seconds.
  var roundTripBuckets = HistogramBuckets([
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
  ])
  /// The buckets of both body sizes, in bytes.
  public var bodySizeBuckets: HistogramBuckets = .bytes
  /// How long a request may be active before it is reported as waiting: then, and at each doubling of that
  /// time. 30 s by default, at least 1 ms; `nil` reports none.
  public var waitingLimit: Duration? = .seconds(30)
  /// The clients, the path templates and the routes whose requests may take any time, such as long polls and
  /// event streams: they are not reported as waiting. None by default. A route counts from when it is known:
  /// ``InboundRequests/begin(method:path:scheme:route:traceparent:clientAddress:fields:headers:)`` or
  /// ``ActiveRequest/responseBegan(statusCode:route:protocolVersion:)``.
  public var waitingExemptions: Set<String> = []
  /// The limit and the expiry of the series of each metric.
  public var series = SeriesConfiguration()

  /// The defaults.
  public init() {}
}
