/// Records requests that an app makes without a URLSession, with the names of the OpenTelemetry HTTP client
/// conventions. An adapter of any client can use it.
///
///     let url = "https://search.example.com/"
///     try await tap.outbound.withRequest(client: "search", method: "GET", url: url) { outbound in
///       let response = try await send(url, traceparent: outbound.trace.traceparent)
///       outbound.end(statusCode: response.status)
///     }
///
/// The requests are in the same metrics and the same log as those of URLSessions. Any thread may use it;
/// calls wait only for a short lock.
public struct OutboundRequests: Sendable {
  let recorder: RequestRecorder

  /// Begins a request, which is active until its end. End it once; released without an end, it counts as
  /// cancelled.
  ///
  /// - Parameters:
  ///   - client: The name for the `client` label and log field: what the requests are for. Never make it of
  ///     data.
  ///   - method: The method as sent.
  ///   - url: The absolute URL as text. Its host and port become labels; the log shows the URL redacted.
  ///   - urlTemplate: A low-cardinality form of the path: the `url_template` label.
  ///   - trace: The place of the request in its trace, for its headers `traceparent` and `tracestate`.
  ///   - fields: The app's fields of the request's log line.
  ///   - headers: The value of a request header, as for ``InboundRequests``.
  public func begin(
    client: String, method: String, url: String, urlTemplate: String? = nil,
    trace: TraceContext = .next(), fields: [String: FieldValue] = [:],
    headers: (String) -> String? = { _ in nil }
  ) -> ActiveRequest {
    let trace = trace.madeHere
    return ActiveRequest(
      RequestDescription(
        madeBy: client, method: method, url: url, urlTemplate: urlTemplate, traceContext: trace,
        fields: fields, headers: recorder.headers.request.values(headers), recorder: recorder),
      trace: trace, filter: recorder.outboundFilter, recorder: recorder)
  }
}

extension OutboundRequests {
  /// Records a request while an operation makes it, within the request's trace (``TraceContext/current``).
  ///
  /// The operation ends the request when the response has been received in full; without an end, and if it
  /// throws, as with ``InboundRequests``. The parameters are those of
  /// ``begin(client:method:url:urlTemplate:trace:fields:headers:)``.
  public func withRequest<Result>(
    client: String, method: String, url: String, urlTemplate: String? = nil,
    trace: TraceContext = .next(), fields: [String: FieldValue] = [:],
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
