/// Records the requests that an app serves, by the names of the OpenTelemetry HTTP server conventions: for the
/// middleware of any framework.
///
///     try await tap.inbound.withRequest(method: "GET", path: "/users/42", traceparent: header) { inbound in
///       let response = try await next(request)
///       inbound.end(statusCode: response.status, route: "/users/{id}")
///     }
///
/// See ``RequestOptions`` for what is exposed: nothing before the first request. Safe to use from any thread; no call waits for
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
  ///   - headers: The value of a request header, joined with commas if there are several (RFC 9110, section 5.3), or `nil`. Called
  ///     at once, for each name that the log shows, in lowercase; never by default.
  /// - Returns: The request, to be ended once. One that is let go without an end has been cancelled.
  public func begin(
    method: String, path: String, scheme: String? = nil, traceparent: String? = nil,
    clientAddress: String? = nil, fields: [String: FieldValue] = [:],
    headers: (String) -> String? = { _ in nil }
  ) -> ActiveRequest {
    let parent = traceparent.flatMap(TraceContext.init(traceparent:))
    let trace = parent?.child() ?? .random()
    return ActiveRequest(
      RequestDescription(
        direction: .inbound, method: method, url: path, scheme: scheme, clientAddress: clientAddress,
        traceContext: trace, fields: fields, headers: recorder.headers.request.values(headers)),
      trace: trace, recorder: recorder)
  }
}

extension InboundRequests {
  /// Records a request while an operation serves it. Within the operation ``TraceContext/current`` is the request's trace, so that
  /// the requests that it makes belong to it.
  ///
  /// The operation ends the request, as it knows the status. Where it does not, its return ends the request as a response
  /// of unknown status, and an error that it throws ends it: a `CancellationError`, and any error in a task that is cancelled, as
  /// cancelled; any other as a failure, ``RequestErrorType/other``, with the name of the error's type in the log.
  /// A middleware whose framework writes the response after its return uses
  /// ``begin(method:path:scheme:traceparent:clientAddress:fields:headers:)`` instead.
  ///
  /// - Parameters:
  ///   - method: The method as received.
  ///   - path: The path as received, as ``begin(method:path:scheme:traceparent:clientAddress:fields:headers:)`` takes it.
  ///   - scheme: `http` or `https` as the server knows it.
  ///   - traceparent: The header of this name. Where there is none, or no valid one, a new trace begins.
  ///   - clientAddress: The caller's address for the log, if it may be known there.
  ///   - fields: What the app adds to the request's log line.
  ///   - headers: The value of a request header, joined with commas if there are several (RFC 9110, section 5.3), or `nil`. Called
  ///     at once, for each name that the log shows, in lowercase; never by default.
  ///   - isolation: The actor that the operation runs on: by default that of the caller.
  ///   - operation: Serves the request, and ends it.
  /// - Returns: What the operation returns. Errors of the operation are thrown on.
  public func withRequest<Result>(
    method: String, path: String, scheme: String? = nil, traceparent: String? = nil,
    clientAddress: String? = nil, fields: [String: FieldValue] = [:],
    headers: (String) -> String? = { _ in nil },
    isolation: isolated (any Actor)? = #isolation,
    _ operation: (ActiveRequest) async throws -> Result
  ) async rethrows -> Result {
    try await begin(
      method: method, path: path, scheme: scheme, traceparent: traceparent, clientAddress: clientAddress,
      fields: fields, headers: headers
    ).run(isolation: isolation, operation)
  }
}
