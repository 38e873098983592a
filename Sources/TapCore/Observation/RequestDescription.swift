/// What is known about a request when it starts.
///
/// The values are as the app gave them: nothing is redacted, cut or normalised here. Each consumer applies
/// its own limits, so that a hostile value is bounded wherever it goes.
public struct RequestDescription: Sendable, Hashable {
  /// The name that the app gave to the configuration factory.
  public var client: String
  /// The method of the request, as sent: `GET`, `get` and `BREW` are three values.
  public var method: String
  /// The absolute URL of the request as text, or an empty string if it has none.
  public var url: String
  /// The host that the request is for, without brackets and without userinfo. `nil` if the URL has none.
  public var serverAddress: String?
  /// The port that the request is for: the URL's own, or the default of its scheme.
  public var serverPort: Int?
  /// A low-cardinality form of the path such as `/users/{id}`, if the app gave one.
  public var urlTemplate: String?
  /// The trace that the request belongs to, from its `traceparent` header.
  public var traceContext: TraceContext?
  /// What the app adds to the request's log line, by key. Metrics take no notice of it.
  public var fields: [String: FieldValue]
  /// Headers of the request, by name, for a consumer that the app allows to show some. Empty where nobody collects
  /// them.
  public var headers: [String: String]

  /// Makes a description. Only the client and the method always apply.
  public init(
    client: String, method: String, url: String = "", serverAddress: String? = nil, serverPort: Int? = nil,
    urlTemplate: String? = nil, traceContext: TraceContext? = nil, fields: [String: FieldValue] = [:],
    headers: [String: String] = [:]
  ) {
    self.client = client
    self.method = method
    self.url = url
    self.serverAddress = serverAddress
    self.serverPort = serverPort
    self.urlTemplate = urlTemplate
    self.traceContext = traceContext
    self.fields = fields
    self.headers = headers
  }
}
