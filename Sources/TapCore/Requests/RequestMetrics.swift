import Synchronization

/// The metrics of requests, by the names of the OpenTelemetry HTTP conventions.
///
/// Of the requests that the app makes:
/// - `http_client_request_duration_seconds`, `http_client_request_body_size_bytes`,
///   `http_client_response_body_size_bytes` and `http_client_time_to_first_byte_seconds`: histograms of ended
///   requests. What came from the session's cache has the label `cache="hit"`. A cancelled request is in the duration
///   too, with neither status code nor `error_type`, so that the duration counts every request that ended.
/// - `http_client_request_phase_duration_seconds`: where the time went (``RequestTimings``), by client, server and template.
/// - `http_client_connections_opened_total`, `http_client_network_round_trip_seconds` and
///   `http_client_retransmitted_segments_total`: what their connections were like, by client and server.
/// - `http_client_active_requests`: a gauge of requests under way.
/// - `http_client_redirects_total`: the redirects that were followed, with the labels of the gauge.
/// - `session_tap_started_requests_total`, `session_tap_ended_requests_total` and
///   `session_tap_cancelled_requests_total`, by client.
///
/// Of those that it serves, from the first one on: `http_server_request_duration_seconds`,
/// `http_server_request_body_size_bytes`, `http_server_response_body_size_bytes`, `http_server_active_requests`,
/// `session_tap_inbound_started_requests_total`, `session_tap_inbound_ended_requests_total` and
/// `session_tap_inbound_cancelled_requests_total`.
///
/// At any scrape, started = ended + active.
public final class RequestMetrics: Sendable {
  /// What can be chosen for one direction, with its defaults.
  public struct Configuration: Sendable, Hashable {
    /// The buckets of the duration and the time to first byte, in seconds.
    public var durationBuckets: HistogramBuckets = .seconds
    /// The buckets of `http_client_request_phase_duration_seconds`, in seconds: from 0.5 ms to 10 s. They are fewer than those of
    /// the duration, since a request has up to eight phases. Inbound requests have none.
    public var phaseBuckets = HistogramBuckets([0.0005, 0.0025, 0.01, 0.05, 0.1, 0.25, 1, 2.5, 10])
    /// The buckets of `http_client_network_round_trip_seconds`, in seconds: from 0.1 ms to 1 s.
    public var roundTripBuckets = HistogramBuckets([
      0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
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

  /// The series in which a request is active. The request keeps it, so that its end counts there too, even if the series has
  /// expired since. All requests with the same labels share it.
  package final class ActiveSeries: Sendable {
    fileprivate let labels: TargetLabels
    fileprivate let target: TargetCounts
    fileprivate let client: ClientCounts

    fileprivate init(_ labels: TargetLabels, _ target: TargetCounts, _ client: ClientCounts) {
      self.labels = labels
      self.target = target
      self.client = client
    }
  }

  private struct State {
    var targets: SeriesTable<TargetLabels, ActiveSeries>
    var clients: SeriesTable<String, ClientCounts>
    var ended: SeriesTable<EndLabels, EndSeries>

    mutating func series(for labels: TargetLabels) -> ActiveSeries {
      if let known = targets.series(for: labels) { return known.element }
      let client = clients.element(
        for: labels.client, labels: { RenderedLabels([Labels.Pair(name: "client", value: $0)]) }
      ) { ClientCounts() }
      let shared = targets.element(for: labels, labels: \.rendered) {
        ActiveSeries(labels, TargetCounts(), client)
      }
      // Requests without room share one series of the gauge, but end under their own labels and client.
      return shared.labels == labels ? shared : ActiveSeries(labels, shared.target, client)
    }
  }

  private let direction: RequestDirection
  private let methods: KnownMethods
  private let families: EndFamilies
  private let phases: PhaseFamilies?
  private let counts: CountDescriptors
  private let state: Mutex<State>

  /// - Throws: ``RegistryError`` if the buckets cannot be used.
  package init(_ direction: RequestDirection, _ configuration: Configuration = Configuration())
    throws(RegistryError)
  {
    self.direction = direction
    methods = KnownMethods(configuration.knownMethods)
    families = try EndFamilies(direction, configuration)
    phases = direction == .outbound ? try PhaseFamilies(configuration) : nil
    counts = try CountDescriptors(direction)
    // What a client has counted stays: its series do not expire.
    let clientOptions = SeriesOptions(limit: configuration.series.limit)
    state = Mutex(
      State(
        targets: SeriesTable(configuration.series), clients: SeriesTable(clientOptions),
        ended: SeriesTable(configuration.series)))
  }

  /// Counts a request as active.
  package func begin(_ request: RequestDescription) -> ActiveSeries {
    let labels = TargetLabels(request, methods)
    return state.withLock { state in
      let series = state.series(for: labels)
      series.target.started &+= 1
      series.client.started &+= 1
      return series
    }
  }

  /// Records a request in the histograms and counts it as ended.
  package func end(_ observation: RequestObservation, _ active: ActiveSeries) {
    let labels = EndLabels(observation, active.labels)
    let errorType = observation.errorType
    let isCancelled = observation.end == .cancelled
    let redirects = observation.resendCount ?? 0
    // The closures capture no observation: they would copy it.
    let series = state.withLock { state in
      active.target.ended &+= 1
      active.client.ended &+= 1
      if isCancelled { active.client.cancelled &+= 1 }
      if redirects > 0 { active.target.addRedirects(UInt64(redirects)) }
      return state.ended.element(for: labels, labels: { $0.rendered(errorType: errorType) }) {
        families.makeSeries()
      }
    }
    series.record(observation)
    phases?.record(observation, active.labels.server)
  }

  var descriptors: [FamilyDescriptor] {
    families.descriptors + counts.all + (phases?.descriptors ?? [])
  }

  /// The families as they are now. An app that serves nothing exposes nothing of it.
  func gather(at now: ContinuousClock.Instant) -> [any GatheredFamily] {
    let (ended, targets, clients) = state.withLock { state in
      state.targets.expire(at: now) { $0.target.started == $0.target.ended ? $0.target.ended : nil }
      state.ended.expire(at: now, activity: \.activity)
      return (
        state.ended.sorted(), state.targets.sorted().map { ($0.labels, $0.element.target.values) },
        state.clients.sorted().map { ($0.labels, $0.element.values) }
      )
    }
    if direction == .inbound, clients.isEmpty { return [] }
    return families.gather(ended) + counts.gather(targets, clients) + (phases?.gather(at: now) ?? [])
  }

  var statistics: [FamilyStatistics] {
    let overflows = state.withLock { ($0.ended.overflowCount, $0.targets.overflowCount, $0.clients.isEmpty) }
    if direction == .inbound, overflows.2 { return [] }
    return families.statistics(overflowCount: overflows.0) + (phases?.statistics ?? []) + [
      FamilyStatistics(metric: counts.active.name, overflowCount: overflows.1, droppedCount: 0)
    ]
  }
}

/// What is counted of requests with the same labels of the gauge. Guarded by the lock of ``RequestMetrics``.
private final class TargetCounts: @unchecked Sendable {
  var started: UInt64 = 0
  var ended: UInt64 = 0
  private var redirects: UInt64 = 0

  /// A counter never goes down: at the end of its range it stays.
  func addRedirects(_ count: UInt64) {
    let (sum, isTooLarge) = redirects.addingReportingOverflow(count)
    redirects = isTooLarge ? .max : sum
  }

  var values: (active: UInt64, redirects: UInt64) { (started &- ended, redirects) }
}

/// What is counted of a client's requests. Guarded by the same lock.
private final class ClientCounts: @unchecked Sendable {
  var started: UInt64 = 0
  var ended: UInt64 = 0
  var cancelled: UInt64 = 0

  var values: (started: UInt64, ended: UInt64, cancelled: UInt64) { (started, ended, cancelled) }
}

/// The families of what is counted.
private struct CountDescriptors: Sendable {
  let active: FamilyDescriptor
  private let redirects: FamilyDescriptor?
  private let started: FamilyDescriptor
  private let ended: FamilyDescriptor
  private let cancelled: FamilyDescriptor

  init(_ direction: RequestDirection) throws(RegistryError) {
    switch direction {
    case .outbound:
      active = try .init("http_client_active_requests", "Requests that have started and not ended.", .gauge)
      redirects = try .init(
        "http_client_redirects_total", "Redirects that HTTP client requests followed.", .counter)
      started = try .init("session_tap_started_requests_total", "Requests that have started.", .counter)
      ended = try .init(
        "session_tap_ended_requests_total",
        "Requests that have ended: with a response, with an error or by a cancel.", .counter)
      cancelled = try .init(
        "session_tap_cancelled_requests_total", "Requests that the app cancelled.", .counter)
    case .inbound:
      active = try .init("http_server_active_requests", "Requests that are being served.", .gauge)
      redirects = nil
      started = try .init(
        "session_tap_inbound_started_requests_total", "Inbound requests that have begun.", .counter)
      ended = try .init(
        "session_tap_inbound_ended_requests_total",
        "Inbound requests that have ended: with a response, with an error or by a cancel.", .counter)
      cancelled = try .init(
        "session_tap_inbound_cancelled_requests_total",
        "Inbound requests whose callers went away, or that were let go without an end.", .counter)
    }
  }

  var all: [FamilyDescriptor] { [active, started, ended, cancelled] + (redirects.map { [$0] } ?? []) }

  func gather(
    _ targets: [(labels: RenderedLabels, values: (active: UInt64, redirects: UInt64))],
    _ clients: [(labels: RenderedLabels, values: (started: UInt64, ended: UInt64, cancelled: UInt64))]
  ) -> [any GatheredFamily] {
    func family<Values>(
      _ descriptor: FamilyDescriptor, _ series: [(labels: RenderedLabels, values: Values)],
      _ value: (Values) -> UInt64
    ) -> any GatheredFamily {
      GatheredSamples(
        descriptor: descriptor,
        samples: series.map { GatheredSamples.Sample(labels: $0.labels, value: Double(value($0.values))) })
    }
    return [
      family(active, targets, \.active), family(started, clients, \.started),
      family(ended, clients, \.ended), family(cancelled, clients, \.cancelled),
    ] + (redirects.map { [family($0, targets, \.redirects)] } ?? [])
  }
}

extension FamilyDescriptor {
  fileprivate init(_ name: String, _ help: String, _ type: MetricType) throws(RegistryError) {
    try self.init(name: name, help: help, type: type, unit: nil)
  }
}
