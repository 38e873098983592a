/// Records requests that an app makes with something else than a URLSession, by the names of the OpenTelemetry HTTP client
/// conventions: for an adapter of any client.
///
///     let url = "https://search.example.com/"
///     try await tap.outbound.withRequest(client: "search", method: "GET", url: url) { outbound in
///       let response = try await send(url, traceparent: outbound.trace.traceparent)
///       outbound.end(statusCode: response.status)
///     }
///
/// The requests are in the same metrics and the same log as those of URLSessions. Safe to use from any thread; no call waits for
/// anything but a short lock.
public struct OutboundRequests: Sendable {
  let recorder: RequestRecorder

  /// Begins a request: it counts as active until it is ended.
  ///
  /// - Parameters:
  ///   - client: The name for the `client` label and log field: what the requests are for. Few, and never made of data.
  ///   - method: The method as sent.
  ///   - url: The absolute URL as text. Its host and port are labels; the log shows it redacted.
  ///   - urlTemplate: A low-cardinality form of the path: the `url_template` label.
  ///   - trace: The place of the request in its trace, whose `traceparent` header it is to carry. By default a child of
  ///     ``TraceContext/current``, and a new trace where there is none.
  ///   - fields: What the app adds to the request's log line.
  ///   - headers: The value of a request header, joined with commas if there are several (RFC 9110, section 5.3), or `nil`. Called
  ///     at once, for each name that the log shows, in lowercase; never by default.
  /// - Returns: The request, to be ended once. One that is let go without an end has been cancelled.
  public func begin(
    client: String, method: String, url: String, urlTemplate: String? = nil,
    trace: TraceContext = TraceContext.current?.child() ?? .random(), fields: [String: FieldValue] = [:],
    headers: (String) -> String? = { _ in nil }
  ) -> ActiveRequest {
    let server = URLAuthority(url)
    return ActiveRequest(
      RequestDescription(
        client: client, method: method, url: url, serverAddress: server?.host, serverPort: server?.port,
        urlTemplate: urlTemplate, traceContext: trace, fields: fields,
        headers: recorder.headers.request.values(headers)),
      trace: trace, recorder: recorder)
  }
}

extension OutboundRequests {
  /// Records a request while an operation makes it. Within the operation ``TraceContext/current`` is the request's trace.
  ///
  /// The operation ends the request when the response has been received in full. Where it does not, its return ends the
  /// request as a response of unknown status, and an error that it throws ends it: a `CancellationError`, and any error in a
  /// task that is cancelled, as cancelled; any other as a failure, ``RequestErrorType/other``, with the name of the error's type in
  /// the log.
  ///
  /// - Parameters:
  ///   - client: The name for the `client` label and log field: what the requests are for. Few, and never made of data.
  ///   - method: The method as sent.
  ///   - url: The absolute URL as text. Its host and port are labels; the log shows it redacted.
  ///   - urlTemplate: A low-cardinality form of the path: the `url_template` label.
  ///   - trace: The place of the request in its trace, whose `traceparent` header it is to carry. By default a child of
  ///     ``TraceContext/current``, and a new trace where there is none.
  ///   - fields: What the app adds to the request's log line.
  ///   - headers: The value of a request header, joined with commas if there are several (RFC 9110, section 5.3), or `nil`. Called
  ///     at once, for each name that the log shows, in lowercase; never by default.
  ///   - isolation: The actor that the operation runs on: by default that of the caller.
  ///   - operation: Makes the request, and ends it.
  /// - Returns: What the operation returns. Errors of the operation are thrown on.
  public func withRequest<Result>(
    client: String, method: String, url: String, urlTemplate: String? = nil,
    trace: TraceContext = TraceContext.current?.child() ?? .random(), fields: [String: FieldValue] = [:],
    headers: (String) -> String? = { _ in nil },
    isolation: isolated (any Actor)? = #isolation,
    _ operation: (ActiveRequest) async throws -> Result
  ) async rethrows -> Result {
    try await begin(
      client: client, method: method, url: url, urlTemplate: urlTemplate, trace: trace, fields: fields,
      headers: headers
    ).run(isolation: isolation, operation)
  }
}
