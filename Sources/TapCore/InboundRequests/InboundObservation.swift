/// One request that an app served: the single value that every ``InboundRequestObserver`` receives.
///
/// The values are as the middleware gave them: nothing is redacted or cut here. Each consumer applies its own limits.
public struct InboundObservation: Sendable, Hashable {
  /// The method of the request, as received.
  public var method: String
  /// The path of the request, as received.
  public var path: String
  /// `http`, `https`, `_OTHER` for anything else, or `nil` where nothing tells it.
  public var scheme: String?
  /// The caller's address, if the middleware gave it.
  public var clientAddress: String?
  /// The place of the request in its trace.
  public var trace: TraceContext
  /// What the app adds to the request's log line, by key. Metrics take no notice of it.
  public var fields: [String: FieldValue]
  /// When the request began.
  public var start: Timestamp
  /// ``duration`` as a number, which needs no arithmetic of 128 bits on its way into a histogram and a line.
  package private(set) var elapsed: Int64
  /// From the beginning to the end that the middleware told. In whole nanoseconds, at most 292 years.
  public var duration: Duration {
    get { .nanoseconds(elapsed) }
    set { elapsed = newValue.nanoseconds }
  }
  /// How the request ended.
  public var end: RequestEnd
  /// The template that the framework matched.
  public var route: String?
  /// The bytes of the request's body, or `nil` where nothing tells them. Unknown is not 0.
  public var requestBodySize: Int64?
  /// The bytes of the response's body, or `nil` where nothing tells them. Unknown is not 0.
  public var responseBodySize: Int64?

  /// The one-word result. For a server a 4xx status code is no error: it says that the caller made one (OpenTelemetry
  /// HTTP conventions, "Status").
  public var outcome: RequestOutcome {
    switch end {
    case .response(let statusCode): Self.isError(statusCode) ? .httpError : .ok
    case .failure: .error
    case .cancelled: .cancelled
    }
  }

  /// The status code of a response that is an error, the class of a failure, and `nil` on success (OpenTelemetry,
  /// `error.type`).
  public var errorType: String? {
    switch end {
    case .response(let statusCode?) where Self.isError(statusCode): String(statusCode)
    case .failure(let type, _): type.rawValue
    case .response, .cancelled: nil
    }
  }

  private static func isError(_ statusCode: Int?) -> Bool { (500...599).contains(statusCode ?? 200) }
}

extension InboundObservation {
  /// Makes an observation.
  public init(
    method: String, path: String, scheme: String? = nil, clientAddress: String? = nil, trace: TraceContext,
    fields: [String: FieldValue] = [:], start: Timestamp = .now, duration: Duration = .zero,
    end: RequestEnd = .cancelled, route: String? = nil, requestBodySize: Int64? = nil,
    responseBodySize: Int64? = nil
  ) {
    self.init(
      method: method, path: path, scheme: scheme, clientAddress: clientAddress, trace: trace, fields: fields,
      start: start, elapsed: duration.nanoseconds, end: end, route: route, requestBodySize: requestBodySize,
      responseBodySize: responseBodySize)
  }
}

extension InboundObservation: EndedRequest {
  package var traceContext: TraceContext? { trace }
  package var elapsedToFirstByte: Int64? { nil }
}
