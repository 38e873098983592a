import Synchronization

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
/// - `http_client_active_requests`: a gauge of requests under way.
/// - `http_client_redirects_total`: the redirects that were followed, with the labels of the gauge.
/// - `session_tap_started_requests_total`, `session_tap_ended_requests_total` and
///   `session_tap_cancelled_requests_total`, by client.
///
/// For the requests that it serves, from the first one on: `http_server_request_duration_seconds`,
/// `http_server_request_body_size_bytes`, `http_server_response_body_size_bytes`,
/// `http_server_active_requests`, `session_tap_inbound_started_requests_total`,
/// `session_tap_inbound_ended_requests_total` and `session_tap_inbound_cancelled_requests_total`.
///
/// At any scrape, started = ended + active.
public struct RequestOptions: Sendable {
  /// Which requests are recorded: all by default. Excluded requests are sent or served unobserved.
  public var filter = RequestFilter.all
  /// The path templates, for the label `url_template` of requests that the app makes, and `http_route` of
  /// requests that it serves. None by default: the label is then omitted. A request's own template, or the
  /// route that a framework matched, takes precedence.
  public var pathTemplates: PathTemplates = []
  /// The buckets of the duration and the time to first byte, in seconds.
  public var durationBuckets: HistogramBuckets = .seconds
  /// The buckets of `http_client_request_phase_duration_seconds`, in seconds: from 0.5 ms to 10 s. Fewer than
  /// those of the duration, because a request has up to eight phases. Inbound requests have no phases.
  public var phaseBuckets = HistogramBuckets([0.0005, 0.0025, 0.01, 0.05, 0.1, 0.25, 1, 2.5, 10])
  /// The buckets of `http_client_network_round_trip_seconds`, in seconds: from 0.1 ms to 1 s.
  public var roundTripBuckets = HistogramBuckets([
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
  ])
  /// The buckets of both body sizes, in bytes.
  public var bodySizeBuckets: HistogramBuckets = .bytes
  /// The methods that appear as themselves; any other is `_OTHER`.
  package var knownMethods = KnownMethods.standard
  /// The limit and the expiry of the series of each metric.
  public var series = SeriesOptions()

  /// The defaults.
  public init() {}
}

/// The names that these comments tell.
extension RequestOptions {
  /// Of ended requests: the duration, the bodies of request and response and, where the app is the client, the first byte.
  func histograms(of direction: RequestDirection) throws(RegistryError) -> [HistogramFamily] {
    let isOutbound = direction == .outbound
    let side = isOutbound ? "client" : "server"
    let span =
      isOutbound
      ? "from the start to the last byte of the body" : "from their beginning to the end of their response"
    let families = [
      ("request_duration_seconds", "Duration of HTTP \(side) requests, \(span).", durationBuckets),
      ("request_body_size_bytes", "Size of HTTP \(side) request bodies.", bodySizeBuckets),
      ("response_body_size_bytes", "Size of HTTP \(side) response bodies.", bodySizeBuckets),
      (
        "time_to_first_byte_seconds",
        "Time of HTTP client requests from the start to the head of the response.", durationBuckets
      ),
    ]
    return try families.prefix(isOutbound ? 4 : 3).map { (name, help, buckets) throws(RegistryError) in
      try HistogramFamily("http_\(side)_\(name)", help, buckets)
    }
  }

  func targetCounts(of direction: RequestDirection) throws(RegistryError) -> [CountFamily] {
    if direction == .inbound {
      return try [CountFamily("http_server_active_requests", "Requests that are being served.", \.active)]
    }
    return try [
      CountFamily("http_client_active_requests", "Requests that have started and not ended.", \.active),
      CountFamily(
        "http_client_redirects_total", "Redirects that HTTP client requests followed.", \.redirects),
    ]
  }

  func clientCounts(of direction: RequestDirection) throws(RegistryError) -> [CountFamily] {
    let (tap, requests, started, cancelled) =
      direction == .outbound
      ? ("session_tap", "Requests", "started", "that the app cancelled.")
      : (
        "session_tap_inbound", "Inbound requests", "begun",
        "whose callers went away, or that were let go without an end."
      )
    return try [
      CountFamily("\(tap)_started_requests_total", "\(requests) that have \(started).", \.started),
      CountFamily(
        "\(tap)_ended_requests_total",
        "\(requests) that have ended: with a response, with an error or by a cancel.", \.ended),
      CountFamily("\(tap)_cancelled_requests_total", "\(requests) \(cancelled)", \.cancelled),
    ]
  }
}

/// What the instruments of one family have in common. A reference: to copy its texts for a record takes longer than the record.
final class InstrumentFamily<Element: Instrument>: Sendable {
  let descriptor: FamilyDescriptor
  private let dropped = DroppedValues()
  private let makeInstrument: @Sendable (DroppedValues) -> Element

  init(
    _ name: String, _ help: String, _ type: MetricType, unit: String? = nil,
    make: @escaping @Sendable (DroppedValues) -> Element
  ) throws(RegistryError) {
    descriptor = try FamilyDescriptor(name: name, help: help, type: type, unit: unit)
    makeInstrument = make
  }

  func make() -> Element { makeInstrument(dropped) }

  /// The instrument of a series, made on first use: what was never known has none. Unknown is not 0.
  func instrument(of series: inout Element?) -> Element {
    let instrument = series ?? make()
    series = instrument
    return instrument
  }

  /// Counts a value that no instrument of the family can take.
  func drop() { dropped.increment() }

  func gathered<Owner>(
    _ series: [Series<Owner>], _ overflowCount: UInt64, _ instrument: (Owner) -> Element?
  ) -> GatheredFamily {
    GatheredFamily(descriptor, series, overflowCount: overflowCount, droppedCount: dropped.count) {
      instrument($0).map { .instrument($0) }
    }
  }
}

typealias HistogramFamily = InstrumentFamily<Registry.Histogram>

extension HistogramFamily {
  convenience init(_ name: String, _ help: String, _ buckets: HistogramBuckets) throws(RegistryError) {
    guard buckets.isValid else { throw RegistryError(.invalidBuckets, metric: name) }
    let layout = BucketLayout(buckets)
    try self.init(name, help, .histogram, unit: name.hasSuffix("_bytes") ? "bytes" : "seconds") {
      Registry.Histogram(layout: layout, dropped: $0)
    }
  }
}

struct CountFamily: Sendable {
  let descriptor: FamilyDescriptor
  private let value: @Sendable (RequestSeries.Counts.Values) -> UInt64

  init(_ name: String, _ help: String, _ value: @escaping @Sendable (RequestSeries.Counts.Values) -> UInt64)
    throws(RegistryError)
  {
    let type: MetricType = name.hasSuffix("_total") ? .counter : .gauge
    descriptor = try FamilyDescriptor(name: name, help: help, type: type, unit: nil)
    self.value = value
  }
  func gathered<Owner>(
    _ series: [Series<Owner>], overflowCount: UInt64?, _ counts: (Owner) -> RequestSeries.Counts
  ) -> GatheredFamily {
    GatheredFamily(descriptor, series, overflowCount: overflowCount) { owner in
      counts(owner).values.withLock { .number(Double(value($0))) }
    }
  }
}
