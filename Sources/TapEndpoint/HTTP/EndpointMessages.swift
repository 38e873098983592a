import TapCore

/// A request whose head is valid. It has no body.
package struct EndpointRequest: Sendable {
  /// The method (RFC 9110, section 9), such as `GET`. Methods are case-sensitive.
  package var method: String
  /// The path of the target, as it came: the path of a route needs no escape.
  package var path: String
  /// The query of the target, still percent-encoded, without its `?`. `nil` if there is none.
  package var query: String?
  /// The requested host: the authority of an absolute target, else the Host field (RFC 9112, section 3.3).
  /// `nil` only in HTTP/1.0.
  package var authority: String?
  /// The minor version: 0 for HTTP/1.0, 1 for everything later (RFC 9110, section 6.2).
  package var minorVersion = 1
  package var headers: EndpointHeaders
  /// Whether the client lets the connection persist after the response (RFC 9112, section 9.3).
  package var keepsAlive = true

  package init(
    method: String = "GET", path: String, query: String? = nil, headers: EndpointHeaders = [:]
  ) {
    (self.method, self.path, self.query, self.headers) = (method, path, query, headers)
    authority = headers["Host"]
  }

  /// The names and values of the query, in its order, decoded as a form: `+` is a space, a name without `=`
  /// has an empty value, and a percent sign that begins no escape is kept.
  package var queryItems: [(name: String, value: String)] {
    guard let query else { return [] }
    return query.utf8.split(separator: UInt8(ascii: "&")).map { item in
      let name = item.prefix { $0 != UInt8(ascii: "=") }
      return (Self.decoded(name), Self.decoded(item[name.endIndex...].dropFirst()))
    }
  }

  private static func decoded(_ text: Substring.UTF8View) -> String {
    let bytes = text.map { $0 == UInt8(ascii: "+") ? UInt8.space : $0 }
    return String(decoding: PercentEncoding.decoded(bytes), as: UTF8.self)
  }

  /// How long the answer may take within a limit: less than `X-Prometheus-Scrape-Timeout-Seconds` by a tenth,
  /// but 50 ms to half a second, for the network. A 503 that states its reason is more useful than an answer
  /// that comes after the scraper has disconnected.
  func answerTime(within limit: Duration) -> Duration {
    guard let text = headers["X-Prometheus-Scrape-Timeout-Seconds"], text.utf8.count <= 32,
      let seconds = Double(text), seconds > 0, seconds < 86_400
    else { return limit }
    let timeout = Duration.seconds(seconds)
    let network = min(max(timeout / 10, .milliseconds(50)), .milliseconds(500))
    return min(max(timeout - network, .milliseconds(1)), limit)
  }
}

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

/// Header fields in their order in the message (RFC 9110, section 5). Names are compared case-insensitively
/// (ASCII). A name may occur more than once.
package struct EndpointHeaders: Sendable, ExpressibleByDictionaryLiteral {
  /// All field lines, in order: their names as written, and their values without the white space around them.
  package private(set) var fields: [(name: String, value: String)] = []

  package init() {}

  package init(dictionaryLiteral elements: (String, String)...) { fields = elements.map { ($0.0, $0.1) } }

  /// The value of the first field with that name. Setting replaces all fields with that name; `nil` removes
  /// them.
  package subscript(name: String) -> String? {
    get { fields.first { $0.name.isEqualIgnoringASCIICase(to: name) }?.value }
    set {
      fields.removeAll { $0.name.isEqualIgnoringASCIICase(to: name) }
      if let newValue { add(name, newValue) }
    }
  }

  package mutating func add(_ name: String, _ value: String) { fields.append((name, value)) }

  /// The values of all fields of that name as one list (RFC 9110, section 5.3); `nil` if there is none.
  package func combined(_ name: String) -> String? {
    let values = values(of: name)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  package func values(of name: String) -> [String] {
    fields.compactMap { $0.name.isEqualIgnoringASCIICase(to: name) ? $0.value : nil }
  }
}

extension String {
  /// Whether both are equal up to the case of ASCII letters, as names and tokens of HTTP are compared (RFC
  /// 9110, section 5.1).
  package func isEqualIgnoringASCIICase(to other: String) -> Bool { utf8.isEqualIgnoringASCIICase(to: other) }

  /// Whether it is a list (RFC 9110, section 5.6.1) with such an element.
  func hasElement(_ token: String) -> Bool {
    utf8.split(separator: UInt8(ascii: ",")).contains {
      $0.trimmingBlanks.isEqualIgnoringASCIICase(to: token)
    }
  }
}

extension Collection<UInt8> {
  func isEqualIgnoringASCIICase(to text: String) -> Bool {
    elementsEqual(text.utf8) { $0.asciiLowercased == $1.asciiLowercased }
  }
}
