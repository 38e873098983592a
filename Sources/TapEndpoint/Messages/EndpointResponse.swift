/// What a handler answers.
///
/// The endpoint frames the message: it writes `Date`, `Content-Length`, `Transfer-Encoding` and `Connection`
/// itself, and leaves out fields of these names, and fields whose name is no token. CR, LF and NUL in a value
/// become spaces, so that no value can begin a field of its own (RFC 9110, section 5.5).
public struct EndpointResponse: Sendable {
  /// The body of a response.
  public enum Body: Sendable {
    /// A body that is there as a whole.
    case bytes([UInt8])
    /// A body that is made while it is sent. With a length it must be exactly that long; without one it is
    /// sent chunked. When the closure throws, or the length is not met, the connection is reset: there is no
    /// other way to say that what has arrived is not whole.
    case stream(length: Int?, @Sendable (EndpointBodyWriter) async throws -> Void)
  }

  /// The status, a final one: 200 to 999.
  public var status: EndpointStatus
  /// The fields that the handler adds.
  public var headers: EndpointHeaders
  /// The body. It is not sent to a HEAD, nor with a status that has none.
  public var body: Body
  /// Whether the connection is closed behind this response.
  public var closesConnection: Bool
  /// Whether the connection is reset instead of any answer.
  package var resetsConnection = false

  /// Makes a response.
  ///
  /// - Parameters:
  ///   - status: a final status, 200 to 999.
  ///   - headers: fields beside those that the endpoint writes itself.
  ///   - body: the body.
  ///   - closesConnection: whether the connection is closed behind it.
  public init(
    status: EndpointStatus = .ok, headers: EndpointHeaders = [:], body: Body = .bytes([]),
    closesConnection: Bool = false
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.closesConnection = closesConnection
  }

  /// A response of plain text, `text/plain; charset=utf-8`.
  public static func text(_ text: String, status: EndpointStatus = .ok) -> EndpointResponse {
    EndpointResponse(
      status: status,
      headers: ["Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"],
      body: .bytes(Array(text.utf8)))
  }

  /// No answer: the connection is reset. For servers that play a failure, as those of tests and demos do.
  public static var reset: EndpointResponse {
    var response = EndpointResponse(status: .internalServerError)
    response.resetsConnection = true
    return response
  }

  /// The page that says why a request was not served: status, reason phrase and one clause.
  package static func refusal(_ status: EndpointStatus, _ reason: String) -> EndpointResponse {
    .text("\(status.rawValue) \(status.reasonPhrase): \(reason)\n", status: status)
  }
}
