/// The response of a handler.
///
/// The endpoint frames the message. It writes `Date`, `Content-Length` and `Connection` itself, and omits a
/// handler's fields with these names, `Transfer-Encoding`, and fields whose name is not a token. CR, LF and
/// NUL in a value become spaces, so that no value can begin another field (RFC 9110, section 5.5).
public struct EndpointResponse: Sendable {
  /// The status, a final one: 200 to 999.
  public var status: EndpointStatus
  /// The handler's header fields.
  public var headers: EndpointHeaders
  /// The body. It is not sent in response to HEAD, or with a status that has no body.
  public var body: [UInt8]
  /// Whether the connection is closed after this response.
  public var closesConnection: Bool
  /// Whether the connection is reset instead of any answer.
  package private(set) var resetsConnection = false

  /// Makes a response.
  ///
  /// - Parameters:
  ///   - status: a final status, 200 to 999.
  ///   - headers: fields in addition to the endpoint's own.
  ///   - body: the body.
  ///   - closesConnection: whether the connection is closed after this response.
  public init(
    status: EndpointStatus = .ok, headers: EndpointHeaders = [:], body: [UInt8] = [],
    closesConnection: Bool = false
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.closesConnection = closesConnection
  }

  /// Makes a response of plain text, `text/plain; charset=utf-8`.
  public static func text(_ text: String, status: EndpointStatus = .ok) -> EndpointResponse {
    EndpointResponse(
      status: status,
      headers: ["Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"],
      body: Array(text.utf8))
  }

  /// No response: the connection is reset. For tests and demos that simulate a failure.
  public static var reset: EndpointResponse {
    var response = EndpointResponse(status: .internalServerError)
    response.resetsConnection = true
    return response
  }

  /// The response to a request that is not served: status, reason phrase and one clause.
  package static func refusal(_ status: EndpointStatus, _ reason: String) -> EndpointResponse {
    .text("\(status.rawValue) \(status.reasonPhrase): \(reason)\n", status: status)
  }
}
