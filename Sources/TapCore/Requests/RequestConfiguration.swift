/// What is recorded of the requests in one direction. The metrics have the names of the OpenTelemetry HTTP
/// conventions.
///
/// For the requests that the app makes:
/// - `http_client_request_duration_seconds`, `http_client_request_body_size_bytes`,
///   `http_client_response_body_size_bytes` and `http_client_time_to_first_byte_seconds`: histograms of ended
///   requests. Responses from the session's cache have the label `cache="hit"`. The duration counts every
///   ended request; a cancelled one has neither status code nor `error_type`.
/// - `http_client_request_phase_duration_seconds`: the phases (``RequestTimings``), by client, server and
///   template.
/// - `http_client_connections_opened_total`, `http_client_network_round_trip_seconds` and
///   `http_client_retransmitted_segments_total`: the connections, by client and server.
/// - `http_client_active_requests`: a gauge of active requests.
/// - `http_client_oldest_active_request_seconds`: the age of the oldest of them, with the same labels, and 0
///   without any.
/// - `http_client_redirects_total`: the redirects that were followed, with the labels of the gauge.
/// - `session_tap_started_requests_total`, `session_tap_ended_requests_total` and
///   `session_tap_cancelled_requests_total`, by client.
///
/// For the requests that it serves, from the first one on: `http_server_request_duration_seconds`,
/// `http_server_request_body_size_bytes`, `http_server_response_body_size_bytes`,
/// `http_server_active_requests`, `http_server_oldest_active_request_seconds`,
/// `session_tap_inbound_started_requests_total`, `session_tap_inbound_ended_requests_total` and
/// `session_tap_inbound_cancelled_requests_total`.
///
/// At any scrape, started = ended + active.
public struct RequestConfiguration: Sendable {
  /// Whether a request is recorded. Requests that the filter excludes are sent or served unobserved. By
  /// default there is no filter.
  ///
  /// ```swift
  /// configuration.outbound.filter = { $0.serverAddress != "metadata.internal" }
  /// configuration.inbound.filter = { !$0.path.hasPrefix("/health") }
  /// ```
  ///
  /// The filter runs where a request begins: for a URLSession, within `resume()`, under a lock of Foundation.
  /// It must be quick, and must not use a URLSession. For a URLSession's request it sees the headers, except
  /// for the session's `httpAdditionalHeaders`, which Foundation on Linux adds later.
  public var filter: (@Sendable (RequestDescription) -> Bool)?
  /// The path templates, for the label `url_template` of requests that the app makes, and `http_route` of
  /// requests that it serves. None by default: the label is then omitted. A request's own template, or the
  /// route that a framework matched, takes precedence.
  public var pathTemplates: PathTemplates = []
  /// The buckets of the duration and the time to first byte, in seconds.
  public var durationBuckets: HistogramBuckets = .seconds
  /// The buckets of `http_client_request_phase_duration_seconds`, in seconds: from 0.5 ms to 10 s. Fewer than
  /// those of the duration, because a request has up to eight phases. Inbound requests have no phases.
  package var phaseBuckets = HistogramBuckets([0.0005, 0.0025, 0.01, 0.05, 0.1, 0.25, 1, 2.5, 10])
  /// The buckets of `http_client_network_round_trip_seconds`, in seconds: from 0.1 ms to 1 s.
  package var roundTripBuckets = HistogramBuckets([
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
  /// ``ActiveRequest/responseBegan(statusCode:route:)``.
  public var waitingExemptions: Set<String> = []
  /// The limit and the expiry of the series of each metric.
  public var series = SeriesConfiguration()

  /// The defaults.
  public init() {}
}
