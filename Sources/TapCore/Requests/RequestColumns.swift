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
    clients = [
      try .count("session_tap_started_requests_total", "Requests that have started.", atBegin: 1),
      try .count(
        "session_tap_ended_requests_total",
        "Requests that have ended: with a response, with an error or by a cancel.", atEnd: .one),
      try .count(
        "session_tap_cancelled_requests_total", "Requests that the app cancelled.", atEnd: .cancelled),
    ]
    targets = [
      try .count(
        "http_client_active_requests", "Requests that have started and not ended.", atBegin: 1,
        atEnd: .minusOne),
      try .age(
        "http_client_oldest_active_request_seconds",
        "Age of the oldest request that has started and not ended, 0 without any."),
      try .count(
        "http_client_redirects_total", "Redirects that HTTP client requests followed.", atEnd: .redirects),
    ]
    ends = [
      try .histogram(
        "http_client_request_duration_seconds",
        "Duration of HTTP client requests, from the start to the last byte of the body.", durations, .duration
      ),
      try .histogram(
        "http_client_time_to_first_byte_seconds",
        "Time of HTTP client requests from the start to the head of the response.", durations,
        .timeToFirstByte),
      try .histogram(
        "http_client_request_body_size_bytes", "Size of HTTP client request bodies.", sizes,
        .requestBodySize),
      try .histogram(
        "http_client_response_body_size_bytes", "Size of HTTP client response bodies.", sizes,
        .responseBodySize),
    ]
    phases = [
      try .histogram(
        "http_client_request_phase_duration_seconds",
        "Duration of the phases of HTTP client requests, of the last leg after redirects.",
        configuration.phaseBuckets)
    ]
    servers = [
      try .histogram(
        "http_client_network_round_trip_seconds",
        "Least round trip of the connections of HTTP client requests, read at the end of a request.",
        configuration.roundTripBuckets, .roundTrip),
      // A server whose connections were all open before has a series, too.
      try .sum(
        "http_client_connections_opened_total", "Connections that HTTP client requests opened.",
        .openedConnections),
      try .sum(
        "http_client_retransmitted_segments_total",
        "TCP segments that were sent again on the connections of HTTP client requests.",
        .retransmittedSegments),
    ]
    (routes, upstreams) = ([], [])
  }

  private init(inbound configuration: RequestConfiguration) throws(RegistryError) {
    let (durations, sizes) = (configuration.durationBuckets, configuration.bodySizeBuckets)
    clients = [
      try .count(
        "session_tap_inbound_started_requests_total", "Inbound requests that have begun.", atBegin: 1),
      try .count(
        "session_tap_inbound_ended_requests_total",
        "Inbound requests that have ended: with a response, with an error or by a cancel.", atEnd: .one),
      try .count(
        "session_tap_inbound_cancelled_requests_total",
        "Inbound requests whose callers went away, or that were let go without an end.", atEnd: .cancelled),
    ]
    targets = [
      try .count(
        "http_server_active_requests", "Requests that are being served.", atBegin: 1, atEnd: .minusOne),
      try .age(
        "http_server_oldest_active_request_seconds",
        "Age of the oldest request that is being served, 0 without any."),
    ]
    ends = [
      try .histogram(
        "http_server_request_duration_seconds",
        "Duration of HTTP server requests, from their beginning to the end of their response.", durations,
        .duration),
      try .histogram(
        "http_server_request_body_size_bytes", "Size of HTTP server request bodies.", sizes,
        .requestBodySize),
      try .histogram(
        "http_server_response_body_size_bytes", "Size of HTTP server response bodies.", sizes,
        .responseBodySize),
    ]
    routes = [
      try .histogram(
        "http_server_request_upstream_seconds",
        "Time in which at least one request that the app made within an HTTP server request was active.",
        durations, .upstream)
    ]
    upstreams = [
      try .sum(
        "http_server_upstream_requests_total",
        "Requests that the app made within HTTP server requests that have ended."),
      try .sum(
        "http_server_upstream_request_seconds_total",
        "Sum of the durations of these requests, more than the time that passed if they were parallel."
      ),
    ]
    (phases, servers) = ([], [])
  }
}
