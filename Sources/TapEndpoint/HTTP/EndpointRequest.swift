import TapCore

/// A request whose head is valid and whose body is complete.
public struct EndpointRequest: Sendable, Hashable {
  /// The method.
  public var method: EndpointMethod
  /// The request target as it was sent (RFC 9112, section 3.2).
  public var target: String
  /// The path of the target, normalised (RFC 3986, section 6.2.2): needless escapes are decoded, and the
  /// others are in upper case. `/%6detrics` becomes `/metrics`, and `%2f` becomes `%2F`, not a slash.
  public var path: String
  /// The query of the target, still percent-encoded, without its `?`. `nil` if there is none.
  public var query: String?
  /// The requested host: the authority of an absolute target, else the Host field (RFC 9112, section 3.3).
  /// `nil` only in HTTP/1.0.
  public var authority: String?
  /// The minor version: 0 for HTTP/1.0, 1 for everything later (RFC 9110, section 6.2).
  public var minorVersion: Int
  /// The header fields.
  public var headers: EndpointHeaders
  /// The body, at most ``Endpoint/Configuration/Limits/bodyBytes`` long. A body without a Content-Length is
  /// refused: 411.
  public var body: [UInt8]
  /// Whether the client lets the connection persist after the response (RFC 9112, section 9.3).
  package var keepsAlive: Bool

  /// How long the answer may take: until the endpoint's deadline, or shortly before the scraper's.
  var answerTime = Duration.seconds(60)

  /// Makes a request, to test a handler. The endpoint makes its own.
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

  /// The names and values of the query, in its order, decoded as a form: `+` is a space, a name without `=`
  /// has an empty value, and a percent sign that begins no escape is kept.
  public var queryItems: [(name: String, value: String)] {
    guard let query else { return [] }
    return query.utf8.split(separator: UInt8(ascii: "&")).map { item in
      let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false).map
      {
        let bytes = $0.map { $0 == UInt8(ascii: "+") ? ByteClass.space : $0 }
        return String(decoding: PercentEncoding.decoded(bytes), as: UTF8.self)
      }
      return (parts[0], parts.count > 1 ? parts[1] : "")
    }
  }

  /// How long the answer may take within a deadline: somewhat less than `X-Prometheus-Scrape-Timeout-Seconds`. A 503 that
  /// states its reason is more useful than an answer that comes after the scraper has disconnected.
  func answerTime(within deadline: Duration) -> Duration {
    guard let text = headers["X-Prometheus-Scrape-Timeout-Seconds"], let seconds = Double(text), seconds > 0,
      seconds < 86_400
    else { return deadline }
    return min(Duration.seconds(seconds).lessTimeForNetwork, deadline)
  }
}

extension Duration {
  /// What is left of a time limit when a tenth of it, but 50 ms to half a second, is kept for the network.
  var lessTimeForNetwork: Duration {
    max(self - min(max(self / 10, .milliseconds(50)), .milliseconds(500)), .milliseconds(1))
  }
}

/// The method of a request (RFC 9110, section 9). Methods are case-sensitive: `get` is not `GET`.
public struct EndpointMethod: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
  /// The method as in the request line.
  public let rawValue: String

  /// Makes a method from its name as in the request line.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Makes a method from a literal.
  public init(stringLiteral value: String) {
    self.init(rawValue: value)
  }

  /// RFC 9110, section 9.3.1. A route for GET answers HEAD too.
  public static let get: EndpointMethod = "GET"
  /// RFC 9110, section 9.3.2.
  public static let head: EndpointMethod = "HEAD"
  /// RFC 9110, section 9.3.3.
  public static let post: EndpointMethod = "POST"
  /// RFC 9110, section 9.3.4.
  public static let put: EndpointMethod = "PUT"
  /// RFC 9110, section 9.3.5.
  public static let delete: EndpointMethod = "DELETE"
  /// RFC 9110, section 9.3.7.
  public static let options: EndpointMethod = "OPTIONS"
  /// RFC 9110, section 9.3.8.
  public static let trace: EndpointMethod = "TRACE"
  /// RFC 5789.
  public static let patch: EndpointMethod = "PATCH"

  /// The methods that a server is expected to recognize: those that no route takes get a 405, all others a
  /// 501 (RFC 9110, section 9.1). CONNECT is for proxies.
  static let standard: Set<EndpointMethod> = [.get, .head, .post, .put, .delete, .options, .trace, .patch]
}

/// Header fields in their order in the message (RFC 9110, section 5). Names are compared case-insensitively
/// (ASCII). A name may occur more than once.
public struct EndpointHeaders: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  /// One field line.
  public struct Field: Sendable, Hashable {
    /// The name, as it was written.
    public var name: String
    /// The value, without the white space around it.
    public var value: String
  }

  /// All field lines, in order.
  public private(set) var fields: [Field] = []

  /// Makes an empty list.
  public init() {}

  /// Makes a list from a literal such as `["Content-Type": "text/plain"]`, in the literal's order.
  public init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { Field(name: $0.0, value: $0.1) }
  }

  /// The value of the first field with that name. Setting a value replaces all fields with that name by one;
  /// setting `nil` removes them.
  public subscript(name: String) -> String? {
    get { fields.first { $0.name.isEqualIgnoringASCIICase(to: name) }?.value }
    set {
      fields.removeAll { $0.name.isEqualIgnoringASCIICase(to: name) }
      if let newValue { add(name, newValue) }
    }
  }

  /// Appends a field line, even if its name exists.
  public mutating func add(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// The values of all fields of that name as one list (RFC 9110, section 5.3); `nil` if there is none.
  package func combined(_ name: String) -> String? {
    let values = values(of: name)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  /// The values of all fields with that name, in order.
  public func values(of name: String) -> [String] {
    fields.compactMap { $0.name.isEqualIgnoringASCIICase(to: name) ? $0.value : nil }
  }
}

extension String {
  /// Whether both are equal up to the case of ASCII letters, as names and tokens of HTTP are compared (RFC 9110, section 5.1).
  package func isEqualIgnoringASCIICase(to other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    var (left, right) = (self, other)
    return left.withUTF8 { left in
      right.withUTF8 { right in zip(left, right).allSatisfy { $0.asciiLowercased == $1.asciiLowercased } }
    }
  }
}
