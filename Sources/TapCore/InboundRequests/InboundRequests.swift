import Synchronization

/// Records the requests that an app serves, by the names of the OpenTelemetry HTTP server conventions: for the
/// middleware of any framework.
///
///     let inbound = tap.inbound.begin(method: "GET", path: "/users/42", scheme: "http", traceparent: header)
///     let response = try await TraceContext.$current.withValue(inbound.trace) { try await next(request) }
///     inbound.end(statusCode: response.status, route: "/users/{id}")
///
/// - `http_server_request_duration_seconds`, `http_server_request_body_size_bytes` and
///   `http_server_response_body_size_bytes`: histograms of ended requests. A request whose caller went away is in the
///   duration too, with neither status code nor `error_type`, so that the duration counts every request that ended.
/// - `http_server_active_requests`: a gauge of requests under way.
/// - `session_tap_inbound_started_requests_total`, `session_tap_inbound_ended_requests_total` and
///   `session_tap_inbound_cancelled_requests_total`. At any scrape, started = ended + active.
///
/// Nothing of it is exposed before the first request. Safe to use from any thread; no call waits for anything but a
/// short lock and the observers.
public final class InboundRequests: Sendable {
  private let methods: KnownMethods
  private let histograms: RequestHistograms<InboundKey>
  private let ledgerDescriptors: InboundLedger.Descriptors
  private let ledger: Mutex<InboundLedger>
  private let observers: [any InboundRequestObserver]

  /// Makes the recorder and registers its metrics.
  ///
  /// - Parameters:
  ///   - registry: Where the metrics are registered.
  ///   - configuration: Buckets, methods, limit of series.
  ///   - observers: Who hears of each request that has ended: a log, or the app's own.
  /// - Throws: ``RegistryError`` if the buckets cannot be used, or the registry has these metrics already.
  public init(
    registry: Registry, configuration: Configuration = Configuration(),
    observers: [any InboundRequestObserver] = []
  ) throws(RegistryError) {
    methods = KnownMethods(configuration.knownMethods)
    histograms = RequestHistograms(
      try RequestFamilies(server: configuration), methods: methods, configuration.series)
    ledgerDescriptors = try InboundLedger.Descriptors()
    ledger = Mutex(InboundLedger(targets: methods.count * InboundScheme.allCases.count))
    self.observers = observers
    try registry.add(self)
  }

  /// Counts a request as active, from now on until it is ended.
  ///
  /// - Parameters:
  ///   - method: The method as received.
  ///   - path: The path as received. It goes to the observers, never into a label; a query in it is not shown.
  ///   - scheme: `http` or `https` as the server knows it, in any case. Anything else is `_OTHER`; `nil` leaves it
  ///     out.
  ///   - traceparent: The header of this name. Where there is none, or no valid one, a new trace begins.
  ///   - clientAddress: The caller's address for the log, if it may be known there.
  ///   - fields: What the app adds to the request's log line.
  /// - Returns: The request, to be ended once. What is let go without an end has been cancelled.
  public func begin(
    method: String, path: String, scheme: String? = nil, traceparent: String? = nil,
    clientAddress: String? = nil, fields: [String: FieldValue] = [:]
  ) -> InboundRequest {
    let target = InboundTarget(method: methods.number(of: method), scheme: InboundScheme(scheme))
    let parent = traceparent.flatMap(TraceContext.init(traceparent:))
    ledger.withLock { $0.start(target) }
    return InboundRequest(
      method: method, path: path, trace: parent?.child() ?? .random(), clientAddress: clientAddress,
      fields: fields,
      target: target, of: self)
  }

  /// Records a request in the histograms and counts it as ended.
  func end(_ observation: InboundObservation, target: InboundTarget) {
    if observation.isWithinLimits {
      record(observation, target: target)
    } else {
      record(observation.withinLimits(), target: target)
    }
    let isCancelled = observation.end == .cancelled
    ledger.withLock { $0.end(target, cancelled: isCancelled) }
    for observer in observers { observer.inboundRequestEnded(observation) }
  }

  @inline(__always)
  private func record(_ observation: InboundObservation, target: InboundTarget) {
    histograms.record(observation, target: target, hash: InboundKey.hash(observation, target: target))
  }
}

extension InboundRequests: MetricSource {
  var descriptors: [FamilyDescriptor] { histograms.descriptors + ledgerDescriptors.all }

  /// An app that serves nothing exposes nothing of it.
  func gather(at now: ContinuousClock.Instant) -> [any GatheredFamily] {
    let books = ledger.withLock { $0 }
    guard books.isInUse else { return [] }
    return histograms.gather(at: now) + books.families(ledgerDescriptors, methods)
  }

  var statistics: [FamilyStatistics] {
    ledger.withLock { $0.isInUse } ? histograms.statistics : []
  }
}
