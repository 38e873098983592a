import Synchronization

/// Turns requests into metrics, by the names of the OpenTelemetry HTTP client conventions.
///
/// - `http_client_request_duration_seconds`, `http_client_request_body_size_bytes`,
///   `http_client_response_body_size_bytes` and `http_client_time_to_first_byte_seconds`: histograms of ended
///   requests. What came from the session's cache has the label `cache="hit"`. A cancelled request is in the duration
///   too, with neither status code nor `error_type`, so that the duration counts every request that ended.
/// - `http_client_request_phase_duration_seconds`: where the time went (``RequestTimings``), and
///   `http_client_connections_opened_total`, by client and server.
/// - `http_client_active_requests`: a gauge of requests under way.
/// - `http_client_redirects_total`: the redirects that were followed, with the labels of the gauge.
/// - `session_tap_started_requests_total`, `session_tap_ended_requests_total` and
///   `session_tap_cancelled_requests_total`, by client. At any scrape, started = ended + active.
///
/// Safe to use from any thread; no call waits for anything but a short lock.
public final class RequestMetrics: RequestObserver {
  private let methods: KnownMethods
  private let histograms: RequestHistograms<RequestKey>
  private let phases: PhaseMetrics
  private let ledgerDescriptors: RequestLedger.Descriptors
  private let ledger: Mutex<RequestLedger>
  private let preparation = Mutex<(@Sendable () -> Void)?>(nil)

  /// Makes the metrics and registers them.
  ///
  /// - Parameters:
  ///   - registry: where they are registered. It holds the request metrics once.
  ///   - configuration: buckets, methods, limit of series.
  /// - Throws: ``RegistryError`` if the buckets cannot be used, or the registry has these metrics already.
  public init(
    registry: Registry, configuration: Configuration = Configuration()
  ) throws(RegistryError) {
    methods = KnownMethods(configuration.knownMethods)
    histograms = RequestHistograms(
      try RequestFamilies(client: configuration), methods: methods, configuration.series)
    phases = try PhaseMetrics(configuration)
    ledgerDescriptors = try RequestLedger.Descriptors()
    ledger = Mutex(RequestLedger(configuration.series))
    try registry.add(self)
  }

  /// Calls this before the metrics are gathered: whoever delivers requests with a delay delivers them then.
  package func beforeGathering(_ prepare: @escaping @Sendable () -> Void) {
    preparation.withLock { $0 = prepare }
  }

  /// Counts a request as active.
  public func requestStarted(_ request: RequestDescription) {
    guard request.isWithinLimits else { return requestStarted(request.withinLimits()) }
    let method = methods.number(of: request.method)
    let hash = RequestTarget.hash(request, method: method).value
    let isCounted = ledger.withLock {
      $0.start(request, method: method, hash: hash) || $0.startInOverflow(of: request.client, hash: hash)
    }
    guard !isCounted else { return }
    let target = RequestTarget(request, method: method)
    let labels = RenderedLabels(target.pairs(methods))
    ledger.withLock { $0.startFirst(target, request: request, hash: hash, labels: labels) }
  }

  /// Records a request in the histograms and counts it as ended.
  public func requestEnded(_ observation: RequestObservation) {
    if !observation.request.isWithinLimits { return requestEnded(observation.withinLimits()) }
    let method = methods.number(of: observation.request.method)
    let target = RequestTarget.hash(observation.request, method: method)
    histograms.record(observation, target: method, hash: RequestKey.hash(observation, start: target))
    phases.record(observation)
    let isCancelled = if case .cancelled = observation.end { true } else { false }
    ledger.withLock {
      $0.end(
        observation.request, method: method, hash: target.value, cancelled: isCancelled,
        redirects: observation.resendCount ?? 0)
    }
  }
}

extension RequestMetrics: MetricSource {
  var descriptors: [FamilyDescriptor] { histograms.descriptors + phases.descriptors + ledgerDescriptors.all }

  func gather(at now: ContinuousClock.Instant) -> [any GatheredFamily] {
    preparation.withLock { $0 }?()
    let books = ledger.withLock { ledger in
      ledger.expire(at: now)
      return ledger
    }
    return histograms.gather(at: now) + phases.gather(at: now) + books.families(ledgerDescriptors)
  }

  var statistics: [FamilyStatistics] {
    let active = ledger.withLock { $0.overflowCount }
    return histograms.statistics + phases.statistics + [
      FamilyStatistics(
        metric: ledgerDescriptors.active.name, overflowCount: active, droppedCount: 0)
    ]
  }
}
