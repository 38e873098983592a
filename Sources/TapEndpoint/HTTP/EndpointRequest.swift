import TapCore

/// A request whose head is valid and whose body is complete.
public struct EndpointRequest: Sendable, Hashable {
  /// The method.
  public var method: EndpointMethod
  /// The request target as it was sent (RFC 9112, section 3.2).
  public var target: String
  /// The path of the target. Escapes that are not needed are decoded, the others in upper case
  /// (RFC 3986, section 6.2.2), so that `/%6detrics` is `/metrics`, and `%2f` is `%2F`, not a slash.
  public var path: String
  /// The query of the target, still percent-encoded, without its `?`. `nil` if there is none.
  public var query: String?
  /// The host that the request is for: the authority of an absolute target, else the Host field (RFC 9112, section
  /// 3.3). `nil` only in HTTP/1.0.
  public var authority: String?
  /// The minor version: 0 for HTTP/1.0, 1 for everything later (RFC 9110, section 6.2).
  public var minorVersion: Int
  /// The header fields.
  public var headers: EndpointHeaders
  /// The body, decoded from its transfer coding. Bounded by ``Endpoint/Configuration/Limits/bodyBytes``.
  public var body: [UInt8]
  /// Whether the client lets the connection persist after the response (RFC 9112, section 9.3).
  package var keepsAlive: Bool

  /// How long the answer may take.
  package var answerTime = Duration.seconds(60)

  /// Makes a request. The endpoint makes them; others do so to test a handler.
  public init(
    method: EndpointMethod = .get, path: String, query: String? = nil, headers: EndpointHeaders = [:],
    body: [UInt8] = []
  ) {
    self.method = method
    self.target = query.map { path + "?" + $0 } ?? path
    self.path = path
    self.query = query
    self.authority = headers["Host"]
    self.minorVersion = 1
    self.headers = headers
    self.body = body
    self.keepsAlive = true
  }

  /// The names and values of the query, decoded as a form is: `+` is a space, a name without `=` has an empty
  /// value, a percent sign that begins no escape stands for itself. In the order of the query.
  public var queryItems: [(name: String, value: String)] {
    guard let query else { return [] }
    return query.utf8.split(separator: UInt8(ascii: "&")).map { item in
      let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      return (
        PercentEncoding.formDecoded(parts.first ?? []),
        parts.count > 1 ? PercentEncoding.formDecoded(parts[1]) : ""
      )
    }
  }
}

/// The method of a request (RFC 9110, section 9). Methods are case-sensitive: `get` is not `GET`.
public struct EndpointMethod: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
  /// The method as it stands in the request line.
  public let rawValue: String

  /// Makes a method from its name, as it is written in the request line.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Makes a method from a literal.
  public init(stringLiteral value: String) {
    self.init(rawValue: value)
  }

  /// RFC 9110, section 9.3.1. A route for GET answers HEAD too.
  public static let get = EndpointMethod(rawValue: "GET")
  /// RFC 9110, section 9.3.2.
  public static let head = EndpointMethod(rawValue: "HEAD")
  /// RFC 9110, section 9.3.3.
  public static let post = EndpointMethod(rawValue: "POST")
  /// RFC 9110, section 9.3.4.
  public static let put = EndpointMethod(rawValue: "PUT")
  /// RFC 9110, section 9.3.5.
  public static let delete = EndpointMethod(rawValue: "DELETE")
  /// RFC 9110, section 9.3.6. The endpoint is no proxy: it is never allowed.
  public static let connect = EndpointMethod(rawValue: "CONNECT")
  /// RFC 9110, section 9.3.7.
  public static let options = EndpointMethod(rawValue: "OPTIONS")
  /// RFC 9110, section 9.3.8.
  public static let trace = EndpointMethod(rawValue: "TRACE")
  /// RFC 5789.
  public static let patch = EndpointMethod(rawValue: "PATCH")

  /// The methods that a server is expected to recognize: those that no route takes get a 405, all others a
  /// 501 (RFC 9110, section 9.1).
  package static let standard: Set<EndpointMethod> = [
    .get, .head, .post, .put, .delete, .connect, .options, .trace, .patch,
  ]
}

/// The `X-Prometheus-Scrape-Timeout-Seconds` of a request. A 503 that states its reason is more useful than
/// an answer that comes after the scraper has disconnected.
enum ScrapeTimeout {
  private static let name = "X-Prometheus-Scrape-Timeout-Seconds"

  /// How long an answer may take so that it arrives in time. `nil` without the field, or if it is no positive
  /// number.
  static func answerTime(_ request: EndpointRequest) -> Duration? {
    guard let text = request.headers[name], let seconds = Double(text), seconds > 0, seconds < 86_400 else {
      return nil
    }
    return time(within: .seconds(seconds))
  }

  /// The time that leaves some for the network: a tenth, but between 50 ms and half a second.
  static func time(within timeout: Duration) -> Duration {
    max(timeout - min(max(timeout / 10, .milliseconds(50)), .milliseconds(500)), .milliseconds(1))
  }
}
