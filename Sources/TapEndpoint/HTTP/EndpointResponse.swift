/// The response of a handler.
///
/// The endpoint frames the message. It writes `Date`, `Content-Length` and `Connection` itself, and omits a
/// handler's fields with these names, `Transfer-Encoding`, and fields whose name is not a token. CR, LF and
/// NUL in a value become spaces, so that no value can begin another field (RFC 9110, section 5.5).
public struct EndpointResponse: Sendable {
  /// The status code (RFC 9110, section 15): 200 to 999. A response with any other is sent as 500.
  public var status: Int
  /// The handler's header fields.
  public var headers: EndpointHeaders
  /// The body. It is not sent in response to HEAD, or with a status that has no body.
  public var body: [UInt8]
  package var closesConnection = false
  package private(set) var resetsConnection = false

  /// Makes a response.
  ///
  /// - Parameters:
  ///   - status: a final status, 200 to 999.
  ///   - headers: fields in addition to the endpoint's own.
  ///   - body: the body.
  public init(status: Int = 200, headers: EndpointHeaders = [:], body: [UInt8] = []) {
    (self.status, self.headers, self.body) = (status, headers, body)
  }

  /// Makes a response of plain text, `text/plain; charset=utf-8`.
  public static func text(_ text: String, status: Int = 200) -> EndpointResponse {
    EndpointResponse(
      status: status,
      headers: ["Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"],
      body: Array(text.utf8))
  }

  /// A response that no cache keeps and no browser takes for another type.
  package static func uncached(_ type: String, _ body: [UInt8]) -> EndpointResponse {
    EndpointResponse(
      headers: ["Content-Type": type, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"],
      body: body)
  }

  /// No response: the connection is reset. For tests and demos that simulate a failure.
  package static var reset: EndpointResponse {
    var response = EndpointResponse(status: 500)
    response.resetsConnection = true
    return response
  }

  /// The response to a request that is not served: status, reason phrase and one clause.
  package static func refusal(_ status: Int, _ reason: String) -> EndpointResponse {
    .text("\(status) \(reasonPhrases[status] ?? ""): \(reason)\n", status: status)
  }

  /// RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5: nothing follows the head of a 204, a 205 or a 304.
  var allowsBody: Bool { status != 204 && status != 205 && status != 304 }

  /// The reason phrase of the registered codes that a small server sends. It may be empty (RFC 9112,
  /// section 4), as it is for all others.
  var reasonPhrase: String { Self.reasonPhrases[status] ?? "" }

  private static let reasonPhrases = [
    200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 205: "Reset Content",
    206: "Partial Content", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
    307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
    403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
    408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required", 413: "Content Too Large",
    414: "URI Too Long", 415: "Unsupported Media Type", 417: "Expectation Failed", 418: "I'm a teapot",
    421: "Misdirected Request", 422: "Unprocessable Content", 429: "Too Many Requests",
    431: "Request Header Fields Too Large", 500: "Internal Server Error", 501: "Not Implemented",
    502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
  ]
}
