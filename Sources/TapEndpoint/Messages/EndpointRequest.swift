/// A request that arrived whole: its head was valid and its body is complete.
public struct EndpointRequest: Sendable, Hashable {
  /// The method.
  public var method: EndpointMethod
  /// The request target as it was sent (RFC 9112, section 3.2).
  public var target: String
  /// The path of the target. What need not be percent-encoded has been decoded and the rest is in upper case
  /// (RFC 3986, section 6.2.2), so that `/%6detrics` is `/metrics`, and `%2f` is `%2F` and no slash.
  public var path: String
  /// The query of the target, still percent-encoded, without its `?`. `nil` if there is none.
  public var query: String?
  /// Who the request is for: the authority of an absolute target, else the Host field (RFC 9112, section
  /// 3.3). `nil` only in HTTP/1.0.
  public var authority: String?
  /// The minor version: 0 for HTTP/1.0, 1 for everything later (RFC 9110, section 6.2).
  public var minorVersion: Int
  /// The header fields.
  public var headers: EndpointHeaders
  /// The body, decoded from its transfer coding. Bounded by ``Endpoint/Configuration/Limits/bodyBytes``.
  public var body: [UInt8]
  /// Whether the client lets the connection stand after the answer (RFC 9112, section 9.3).
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
