import Synchronization

/// A request that an app serves, from ``InboundRequests/begin(method:path:scheme:traceparent:clientAddress:fields:)``
/// to its end.
///
/// It ends once, whatever is called how often: the first end counts, and further ones do nothing. Where none comes,
/// because the framework let go of a request whose caller went away, it ends as cancelled when the last reference to
/// it goes. Safe to use from any thread.
public final class InboundRequest: Sendable {
  private let method: String
  private let path: String
  private let clientAddress: String?
  private let fields: [String: FieldValue]
  private let target: InboundTarget
  private let requests: InboundRequests
  private let start = Instant.now
  private let startTime = Timestamp.now
  private let hasEnded = Atomic<Bool>(false)

  /// The place of this request in its trace: a child of the caller's, or the first of a new trace. For
  /// ``TraceContext/current`` while the request is served.
  public let trace: TraceContext

  init(
    method: String, path: String, trace: TraceContext, clientAddress: String?, fields: [String: FieldValue],
    target: InboundTarget, of requests: InboundRequests
  ) {
    self.method = method
    self.path = path
    self.trace = trace
    self.clientAddress = clientAddress
    self.fields = fields
    self.target = target
    self.requests = requests
  }

  deinit {
    finish(.cancelled, route: nil, requestBodySize: nil, responseBodySize: nil)
  }

  /// The response has been sent, or handed over to be.
  ///
  /// - Parameters:
  ///   - statusCode: The status code, whatever it says: 4xx too is an answer, and 5xx an error.
  ///   - route: The template that the framework matched, such as `/users/{id}`: the `http_route` label. Never the path.
  ///   - requestBodySize: The bytes of the request's body, or `nil` where nothing tells them. Unknown is not 0.
  ///   - responseBodySize: The bytes of the response's body, likewise.
  public func end(
    statusCode: Int, route: String? = nil, requestBodySize: Int? = nil, responseBodySize: Int? = nil
  ) {
    finish(
      .response(statusCode: statusCode), route: route, requestBodySize: requestBodySize,
      responseBodySize: responseBodySize)
  }

  /// The request came to nothing: no whole response was sent. Where the framework answers an error with a status code,
  /// ``end(statusCode:route:requestBodySize:responseBodySize:)`` with that code is right instead.
  ///
  /// - Parameters:
  ///   - type: What went wrong: the `error_type` label.
  ///   - statusCode: The status code, if the head of a response had been sent.
  ///   - route: The template that the framework matched.
  ///   - requestBodySize: The bytes of the request's body that were read.
  ///   - responseBodySize: The bytes of the response's body that were sent.
  public func fail(
    _ type: RequestErrorType = .other, statusCode: Int? = nil, route: String? = nil,
    requestBodySize: Int? = nil, responseBodySize: Int? = nil
  ) {
    finish(
      .failure(type, statusCode: statusCode), route: route, requestBodySize: requestBodySize,
      responseBodySize: responseBodySize)
  }

  /// The caller went away, or the task that served the request was cancelled. This is no error.
  ///
  /// - Parameter route: The template that the framework matched.
  public func cancel(route: String? = nil) {
    finish(.cancelled, route: route, requestBodySize: nil, responseBodySize: nil)
  }

  private func finish(
    _ end: RequestEnd, route: String?, requestBodySize: Int?, responseBodySize: Int?
  ) {
    guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
    let observation = InboundObservation(
      method: method, path: path, scheme: target.scheme.text, clientAddress: clientAddress, trace: trace,
      fields: fields, start: startTime, elapsed: Instant.now.nanoseconds - start.nanoseconds, end: end,
      route: route, requestBodySize: requestBodySize.map(Int64.init),
      responseBodySize: responseBodySize.map(Int64.init))
    requests.end(EndedInboundRequest(observation: observation, target: target))
  }
}
