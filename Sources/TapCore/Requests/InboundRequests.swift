/// Records the requests that an app serves, by the names of the OpenTelemetry HTTP server conventions: for the
/// middleware of any framework.
///
///     let inbound = tap.inbound.begin(method: "GET", path: "/users/42", scheme: "http", traceparent: header)
///     let response = try await TraceContext.$current.withValue(inbound.trace) { try await next(request) }
///     inbound.end(statusCode: response.status, route: "/users/{id}")
///
/// See ``RequestMetrics`` for what is exposed: nothing before the first request. Safe to use from any thread; no call waits for
/// anything but a short lock.
public struct InboundRequests: Sendable {
  let recorder: RequestRecorder

  /// Begins a request: it counts as active until it is ended.
  ///
  /// - Parameters:
  ///   - method: The method as received.
  ///   - path: The path as received. It goes to the log and the observers, never into a label; a query in it is not shown.
  ///   - scheme: `http` or `https` as the server knows it, in any case. Anything else is `_OTHER`; `nil` leaves it
  ///     out.
  ///   - traceparent: The header of this name. Where there is none, or no valid one, a new trace begins.
  ///   - clientAddress: The caller's address for the log, if it may be known there.
  ///   - fields: What the app adds to the request's log line.
  /// - Returns: The request, to be ended once. One that is let go without an end has been cancelled.
  public func begin(
    method: String, path: String, scheme: String? = nil, traceparent: String? = nil,
    clientAddress: String? = nil, fields: [String: FieldValue] = [:]
  ) -> ActiveRequest {
    let parent = traceparent.flatMap(TraceContext.init(traceparent:))
    let trace = parent?.child() ?? .random()
    return ActiveRequest(
      RequestDescription(
        direction: .inbound, method: method, url: path, scheme: scheme, clientAddress: clientAddress,
        traceContext: trace, fields: fields),
      trace: trace, recorder: recorder)
  }
}
