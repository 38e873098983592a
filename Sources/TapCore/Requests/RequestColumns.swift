/// The metrics to which the begins and the ends of requests add. Each is one column of a table, whose labels
/// are those of ``RequestLabels`` of the same name.
struct RequestColumns {
  /// What each client has begun and ended.
  let clients: [RequestColumn]
  /// Of the requests for one target: the method, the server and the template.
  let targets: [RequestColumn]
  /// Of ended requests, by their outcome.
  let ends: [RequestColumn]
  /// Of the phases of ended requests.
  let phases: [RequestColumn]
  /// Of the connections to a server.
  let servers: [RequestColumn]
  /// Of the served requests within which the app made others.
  let routes: [RequestColumn]
  /// Of the requests that the app made within them.
  let upstreams: [RequestColumn]

  var all: [RequestColumn] { clients + targets + ends + phases + servers + routes + upstreams }

  /// The bounds of the first column of the ends.
  var durationBounds: [Double] { ends.first?.layout?.upperBounds ?? [] }

  init(_ direction: RequestDirection, _ configuration: RequestConfiguration) throws(RegistryError) {
    switch direction {
    case .outbound: try self.init(outbound: configuration)
    case .inbound: try self.init(inbound: configuration)
    }
  }

  private init(outbound configuration: RequestConfiguration) throws(RegistryError) {
    let (durations, sizes) = (configuration.durationBuckets, configuration.bodySizeBuckets)
    clients = try [
      .count("session_tap_started_requests_total", "Requests that have started.", atBegin: 1),
      .count(
        "session_tap_ended_requests_total",
        "Requests that have ended: with a response, with an error or by a cancel.", atEnd: .one),
      .count("session_tap_cancelled_requests_total", "Requests that the app cancelled.", atEnd: .cancelled),
    ]
    targets = try [
      .count(
        "http_client_active_requests", "Requests that have started and not ended.", atBegin: 1,
        atEnd: .minusOne),
      .age(
        "http_client_oldest_active_request_seconds",
        "Age of the oldest request that has started and not ended, 0 without any."),
      .count(
        "http_client_redirects_total", "Redirects that HTTP client requests followed.", atEnd: .redirects),
    ]
    ends = try [
      .histogram(
        "http_client_request_duration_seconds",
        "Duration of HTTP client requests, from the start to the last byte of the body.", durations, .duration
      ),
      .histogram(
        "http_client_time_to_first_byte_seconds",
        "Time of HTTP client requests from the start to the first byte of the last response.", durations,
        .timeToFirstByte),
      .histogram(
        "http_client_request_body_size_bytes", "Size of HTTP client request bodies.", sizes,
        .requestBodySize),
      .histogram(
        "http_client_response_body_size_bytes", "Size of HTTP client response bodies.", sizes,
        .responseBodySize),
    ]
    phases = try [
      .histogram(
        "http_client_request_phase_duration_seconds",
        "Duration of the phases of HTTP client requests, of the last leg after redirects.",
        configuration.phaseBuckets)
    ]
    servers = try [
      .histogram(
        "http_client_network_round_trip_seconds",
        "Least round trip of the connections of HTTP client requests, read at the end of a request.",
        configuration.roundTripBuckets, .roundTrip),
      // A server whose connections were all open before has a series, too.
      .sum(
        "http_client_connections_opened_total", "Connections that HTTP client requests opened.",
        .openedConnections),
      .sum(
        "http_client_retransmitted_segments_total",
        "TCP segments that were sent again on the connections of HTTP client requests.",
        .retransmittedSegments),
    ]
    (routes, upstreams) = ([], [])
  }

  private init(inbound configuration: RequestConfiguration) throws(RegistryError) {
    let (durations, sizes) = (configuration.durationBuckets, configuration.bodySizeBuckets)
    clients = try [
      .count("session_tap_inbound_started_requests_total", "Inbound requests that have begun.", atBegin: 1),
      .count(
        "session_tap_inbound_ended_requests_total",
        "Inbound requests that have ended: with a response, with an error or by a cancel.", atEnd: .one),
      .count(
        "session_tap_inbound_cancelled_requests_total",
        "Inbound requests whose callers went away, or that were let go without an end.", atEnd: .cancelled),
    ]
    targets = try [
      .count("http_server_active_requests", "Requests that are being served.", atBegin: 1, atEnd: .minusOne),
      .age(
        "http_server_oldest_active_request_seconds",
        "Age of the oldest request that is being served, 0 without any."),
    ]
    ends = try [
      .histogram(
        "http_server_request_duration_seconds",
        "Duration of HTTP server requests, from their beginning to the end of their response.", durations,
        .duration),
      .histogram(
        "http_server_request_body_size_bytes", "Size of HTTP server request bodies.", sizes,
        .requestBodySize),
      .histogram(
        "http_server_response_body_size_bytes", "Size of HTTP server response bodies.", sizes,
        .responseBodySize),
    ]
    routes = try [
      .histogram(
        "http_server_request_upstream_seconds",
        "Time in which at least one request that the app made within an HTTP server request was active.",
        durations, .upstream)
    ]
    upstreams = try [
      .sum(
        "http_server_upstream_requests_total",
        "Requests that the app made within HTTP server requests that have ended."),
      .sum(
        "http_server_upstream_request_seconds_total",
        "Sum of the durations of these requests, more than the time that passed if they were parallel."
      ),
    ]
    (phases, servers) = ([], [])
  }
}

/// A metric of requests: its name, its help, its type, and what the begin and the end of a request add or
/// record.
///
/// A class: a value of this size would be copied at each access.
final class RequestColumn: Sendable {
  /// What the end of a request adds or records.
  enum Value: Sendable {
    /// 1 for each request, or for each that was cancelled; the end of what was counted at the begin.
    case one, cancelled, minusOne
    case redirects, openedConnections, retransmittedSegments
    case duration, timeToFirstByte, roundTrip, upstream
    case requestBodySize, responseBodySize

    /// `nil` is unknown. A value below 0 is dropped and counted, but for a gauge.
    func value(of request: borrowing RequestObservation) -> Double? {
      switch self {
      case .one: 1
      case .cancelled: request.end == .cancelled ? 1 : nil
      case .minusOne: -1
      case .redirects: request.resendCount.map(Double.init)
      case .openedConnections: request.openedConnections.map(Double.init)
      case .retransmittedSegments: request.retransmittedSegments.map(Double.init)
      case .duration: seconds(request.duration.nanoseconds)
      case .timeToFirstByte: request.timeToFirstByte.map { seconds($0.nanoseconds) }
      case .roundTrip: request.networkRoundTrip.map { seconds($0.nanoseconds) }
      case .upstream: request.upstream.map { seconds($0.nanoseconds) }
      case .requestBodySize: request.requestBodySize.map(Double.init)
      case .responseBodySize: request.responseBodySize.map(Double.init)
      }
    }
  }

  let column: SeriesColumn
  let layout: BucketLayout?
  var isHistogram: Bool { layout != nil }
  let atBegin: Double
  let atEnd: Value?
  /// The value of a series before anything is known: 0 for a count.
  let initialNumber: Double?
  let isGauge: Bool
  /// The age of the oldest request, which a scrape sets.
  let isAge: Bool

  private init(
    _ name: String, _ help: String, _ buckets: HistogramBuckets? = nil, atBegin: Double = 0, atEnd: Value?,
    _ initialNumber: Double? = nil, isAge: Bool = false
  ) throws(RegistryError) {
    if let buckets, !buckets.isValid { throw RegistryError(.invalidBuckets, metric: name) }
    let type: MetricType = buckets != nil ? .histogram : name.hasSuffix("_total") ? .counter : .gauge
    let unit = ["seconds", "bytes"].first { name.hasSuffix("_\($0)") || name.hasSuffix("_\($0)_total") }
    column = SeriesColumn(
      descriptor: try FamilyDescriptor(name: name, help: help, type: type, unit: unit))
    layout = buckets.map(BucketLayout.init)
    (isGauge, self.isAge) = (type == .gauge, isAge)
    (self.atBegin, self.atEnd, self.initialNumber) = (atBegin, atEnd, initialNumber)
  }

  /// A histogram of values. A series without a value is not exposed: unknown is not 0.
  static func histogram(
    _ name: String, _ help: String, _ buckets: HistogramBuckets, _ value: Value? = nil
  ) throws(RegistryError) -> RequestColumn {
    try RequestColumn(name, help, buckets, atEnd: value)
  }

  /// A sum of values. A series without a value is not exposed.
  static func sum(
    _ name: String, _ help: String, _ value: Value? = nil
  ) throws(RegistryError) -> RequestColumn {
    try RequestColumn(name, help, atEnd: value)
  }

  /// A count of begins and ends, from 0 on.
  static func count(
    _ name: String, _ help: String, atBegin: Double = 0, atEnd: Value? = nil
  ) throws(RegistryError) -> RequestColumn {
    try RequestColumn(name, help, atBegin: atBegin, atEnd: atEnd, 0)
  }

  /// The age of the oldest active request, 0 without any.
  static func age(_ name: String, _ help: String) throws(RegistryError) -> RequestColumn {
    try RequestColumn(name, help, atEnd: nil, 0, isAge: true)
  }
}
