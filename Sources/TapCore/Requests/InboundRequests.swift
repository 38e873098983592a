/// Records the requests that an app serves, with the names of the OpenTelemetry HTTP server conventions. The
/// middleware of any framework can use it.
///
///     try await tap.inbound.withRequest(method: "GET", path: "/users/42", traceparent: header) { inbound in
///       let response = try await next(request)
///       inbound.end(statusCode: response.status, route: "/users/{id}")
///     }
///
/// The metrics appear with the first request. Any thread may use it; calls wait only for a short lock.
public struct InboundRequests: Sendable {
  let recorder: RequestRecorder

  /// The names of the response headers that the log shows, in lowercase and sorted: none by default. A
  /// middleware keeps only these until the end of a request.
  public var responseHeaderNames: [String] { recorder.headers.response }

  /// Begins a request, which is active until its end. End it once; released without an end, it counts as
  /// cancelled.
  ///
  /// - Parameters:
  ///   - method: The method as received.
  ///   - path: The path as received. It goes to the log, without its query, and the observers, never into a
  ///     label.
  ///   - scheme: `http` or `https` as the server knows it. Anything else is `_OTHER`; `nil` omits it.
  ///   - route: The template that the framework matched, such as `/users/{id}`, if it is known by now.
  ///   - traceparent: The header of this name. Without a valid one, a new trace begins.
  ///   - clientAddress: The caller's address, if the log may show it.
  ///   - fields: The app's fields of the request's log line.
  ///   - headers: The value of a request header, joined with commas if there are several (RFC 9110, section
  ///     5.3), or `nil`. Called at once, in lowercase: for `tracestate`, and for each name that the log shows
  ///     or a tracer reads.
  public func begin(
    method: String, path: String, scheme: String? = nil, route: String? = nil, traceparent: String? = nil,
    clientAddress: String? = nil, fields: [String: FieldValue] = [:],
    headers: (String) -> String? = { _ in nil }
  ) -> ActiveRequest {
    let trace =
      recorder.tracer?.beginServerSpan(method: method) { $0 == "traceparent" ? traceparent : headers($0) }
      .within(nil)
      ?? traceparent.flatMap { TraceContext(traceparent: $0, tracestate: headers("tracestate")) }?.child()
      ?? .random(samplingRate: recorder.traceSamplingRate)
    return ActiveRequest(
      RequestDescription(
        direction: .inbound, client: "", method: method, url: path,
        urlTemplate: route ?? recorder.inboundTemplates?.template(forURL: path), scheme: scheme,
        clientAddress: clientAddress, traceContext: trace, fields: fields,
        headers: recorder.headers.request.values(headers), knownMethods: recorder.knownMethods),
      trace: trace, filter: recorder.inboundFilter, recorder: recorder)
  }
}

extension InboundRequests {
  /// Records a request while an operation serves it, within the request's trace (``TraceContext/current``).
  ///
  /// The operation ends the request, because it knows the status. If it returns without an end, the status is
  /// unknown. If it throws a `CancellationError`, or any error in a cancelled task, the request is cancelled.
  /// Any other error ends it as failed, with the name of the error's type in the log. If the framework writes
  /// the response after the middleware's return, use
  /// ``begin(method:path:scheme:route:traceparent:clientAddress:fields:headers:)``, which has the same
  /// parameters.
  public func withRequest<Result>(
    method: String, path: String, scheme: String? = nil, route: String? = nil, traceparent: String? = nil,
    clientAddress: String? = nil, fields: [String: FieldValue] = [:],
    headers: (String) -> String? = { _ in nil },
    isolation: isolated (any Actor)? = #isolation,
    _ operation: (ActiveRequest) async throws -> Result
  ) async rethrows -> Result {
    try await begin(
      method: method, path: path, scheme: scheme, route: route, traceparent: traceparent,
      clientAddress: clientAddress, fields: fields, headers: headers
    ).run(isolation: isolation, operation)
  }
}
