import Synchronization

/// Turns requests into metrics, by the names of the OpenTelemetry HTTP client conventions.
///
/// - `http_client_request_duration_seconds`, `http_client_request_body_size_bytes` and
///   `http_client_response_body_size_bytes`: histograms of ended requests. A cancelled request is in the duration
///   too, with neither status code nor `error_type`, so that the duration counts every request that ended.
/// - `http_client_active_requests`: a gauge of requests under way.
/// - `session_tap_started_requests_total`, `session_tap_ended_requests_total` and
///   `session_tap_cancelled_requests_total`, by client. At any scrape, started = ended + active.
///
/// Safe to use from any thread; no call waits for anything but a short lock.
public final class RequestMetrics: RequestObserver {
  private let configuration: Configuration
  private let methods: KnownMethods
  private let families: RequestFamilies
  private let ledgerDescriptors: RequestLedger.Descriptors
  private let series: Mutex<SeriesTable<RequestKey, RequestSeries>>
  private let ledger: Mutex<RequestLedger>

  /// Makes the metrics and registers them.
  ///
  /// - Throws: ``RegistryError`` if the buckets cannot be used, or the registry has these metrics already.
  public init(
    registry: Registry, configuration: Configuration = Configuration()
  ) throws(RegistryError) {
    self.configuration = configuration
    methods = KnownMethods(configuration.knownMethods)
    families = try RequestFamilies(configuration)
    ledgerDescriptors = try RequestLedger.Descriptors()
    series = Mutex(SeriesTable(configuration.series))
    ledger = Mutex(RequestLedger(configuration.series))
    try registry.add(self)
  }

  /// Counts a request as active.
  public func requestStarted(_ request: RequestDescription) {
    let target = RequestTarget(request, methods: methods)
    ledger.withLock { $0.start(target) }
  }

  /// Records a request in the histograms and counts it as ended.
  public func requestEnded(_ observation: RequestObservation) {
    let key = RequestKey(observation, methods: methods)
    series(for: key).record(observation)
    let cancelled = observation.end == .cancelled
    ledger.withLock { $0.end(key.target, cancelled: cancelled) }
  }

  private func series(for key: RequestKey) -> RequestSeries {
    let hashed = HashedKey(key)
    if let known = series.withLock({ $0.series(for: hashed) }) { return known.element }
    let labels = RenderedLabels(key.pairs)
    let created = Timestamp.now
    return series.withLock {
      $0.series(for: hashed, labels: labels, created: created, make: families.makeSeries)
    }.element
  }
}

extension RequestMetrics: MetricSource {
  var descriptors: [FamilyDescriptor] { families.descriptors + ledgerDescriptors.all }

  func gather(at now: ContinuousClock.Instant) -> [any GatheredFamily] {
    let books = ledger.withLock { ledger in
      ledger.expire(at: now)
      return ledger
    }
    let series = series.withLock { table in
      table.expire(at: now, activity: \.activity)
      return table.sorted()
    }
    return families.gather(series) + books.families(ledgerDescriptors)
  }

  var statistics: [FamilyStatistics] {
    let active = ledger.withLock { $0.overflowCount }
    let ended = series.withLock { $0.overflowCount }
    return families.statistics(overflowCount: ended) + [
      FamilyStatistics(
        metric: ledgerDescriptors.active.name, overflowCount: active, droppedCount: 0)
    ]
  }
}
