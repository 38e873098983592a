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
/// Nothing of it is exposed before the first request. What has ended is recorded within a tenth of a second, by a thread of
/// its own, and before each scrape. Safe to use from any thread; no call waits for anything but a short lock, unless an
/// observer that is given to ``init(registry:configuration:observers:)`` is so slow that thousands of requests wait for it. Those
/// of a `Tap.Configuration` have a thread of their own.
public final class InboundRequests: Sendable {
  private let recorder: InboundRecorder
  /// The way to the recorder.
  private let ended: BatchQueue<EndedInboundRequest>

  /// Makes the recorder and registers its metrics.
  ///
  /// - Parameters:
  ///   - registry: Where the metrics are registered.
  ///   - configuration: Buckets, methods, limit of series.
  ///   - observers: Who hears of each request that has ended, a tenth of a second later at most: a log, or the app's own.
  /// - Throws: ``RegistryError`` if the buckets cannot be used, or the registry has these metrics already.
  public init(
    registry: Registry, configuration: Configuration = Configuration(),
    observers: [any InboundRequestObserver] = []
  ) throws(RegistryError) {
    let recorder = try InboundRecorder(configuration, observers: observers)
    self.recorder = recorder
    ended = BatchQueue(helpLimit: 8) { recorder.end($0) }
    ExitFlush.add(ended)
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
    let target = InboundTarget(method: recorder.methods.number(of: method), scheme: InboundScheme(scheme))
    let parent = traceparent.flatMap(TraceContext.init(traceparent:))
    recorder.start(target)
    return InboundRequest(
      method: method, path: path, trace: parent?.child() ?? .random(), clientAddress: clientAddress,
      fields: fields,
      target: target, of: self)
  }

  /// Has recorded all that ended before, and the observers told of it. A scrape does so by itself; call this before you
  /// read what an observer knows. Without effect within an observer.
  public func flush() { ended.flush() }

  /// Notes a request that has ended.
  func end(_ request: EndedInboundRequest) { ended.add(request) }
}

extension InboundRequests: MetricSource {
  var descriptors: [FamilyDescriptor] { recorder.descriptors }

  func gather(at now: ContinuousClock.Instant) -> [any GatheredFamily] {
    flush()
    return recorder.gather(at: now)
  }

  var statistics: [FamilyStatistics] { recorder.statistics }
}
