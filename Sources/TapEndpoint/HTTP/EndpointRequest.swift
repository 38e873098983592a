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
