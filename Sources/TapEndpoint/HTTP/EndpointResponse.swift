/// The response of a handler. The endpoint frames the message: it writes `Date`, `Content-Length` and
/// `Connection` itself.
package struct EndpointResponse: Sendable {
  /// One of ``reasonPhrases``.
  package var status: Int
  package var headers: EndpointHeaders
  /// The body, which is not sent in response to HEAD.
  package var body: [UInt8]

  package init(status: Int = 200, headers: EndpointHeaders = [:], body: [UInt8] = []) {
    (self.status, self.headers, self.body) = (status, headers, body)
  }

  package static func text(_ text: String, status: Int = 200) -> EndpointResponse {
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

  /// The response to a request that is not served: status, reason phrase and one clause.
  package static func refusal(_ status: Int, _ reason: String) -> EndpointResponse {
    .text("\(status) \(reasonPhrases[status] ?? ""): \(reason)\n", status: status)
  }

  var reasonPhrase: String { Self.reasonPhrases[status] ?? "" }

  /// The status codes of this server (RFC 9110, section 15).
  private static let reasonPhrases = [
    200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed",
    408: "Request Timeout", 413: "Content Too Large", 414: "URI Too Long", 421: "Misdirected Request",
    431: "Request Header Fields Too Large", 501: "Not Implemented", 503: "Service Unavailable",
    505: "HTTP Version Not Supported",
  ]
}
