/// The direction of a request.
public enum RequestDirection: String, Sendable, Hashable, CaseIterable {
  /// The app makes it.
  case outbound
  /// The app serves it.
  case inbound

  /// A 4xx status code is an error for a client, but not for a server, whose caller made it (OpenTelemetry
  /// HTTP conventions, "Status").
  func isError(_ statusCode: Int) -> Bool { ((self == .inbound ? 500 : 400)...599).contains(statusCode) }
}

/// What is known about a request when it begins.
///
/// The values are the app's: nothing is redacted, cut or normalised here. Each consumer applies its own
/// limits.
public struct RequestDescription: Sendable, Hashable {
  /// Whether the app makes or serves the request.
  public var direction: RequestDirection
  /// The app's name for what makes the request, such as a session. Empty for an inbound request.
  public var client: String
  /// The method as sent: `GET`, `get` and `BREW` are three values.
  public var method: String
  /// The absolute URL of an outbound request as text, empty if it has none. For an inbound request, the path
  /// as received.
  public var url: String
  /// The host of an outbound request, without brackets and userinfo. `nil` if the URL has none.
  public var serverAddress: String?
  /// The port of an outbound request: the URL's own, or the default of its scheme.
  public var serverPort: Int?
  /// A low-cardinality form of the path, such as `/users/{id}`, if the app gave one. For an inbound request,
  /// the route.
  public var urlTemplate: String?
  /// The scheme of an inbound request, as the app's server gave it.
  public var scheme: String?
  /// The address of an inbound request's caller, if the app gave it.
  public var clientAddress: String?
  /// The place of the request in its trace. An outbound request has one if it carries a `traceparent` header;
  /// an inbound request always has one.
  public var traceContext: TraceContext?
  /// The app's fields of the request's log line, by key. Metrics ignore them.
  public var fields: [String: FieldValue]
  /// Headers of the request, by name, for a consumer that may show some: all those of a URLSession's request; of other requests those
  /// that the log shows, by their names in lowercase. Empty if they are not collected.
  public var headers: [String: String]

  /// Makes a description. Every request has a client and a method.
  public init(
    direction: RequestDirection = .outbound, client: String = "", method: String, url: String = "",
    serverAddress: String? = nil, serverPort: Int? = nil, urlTemplate: String? = nil, scheme: String? = nil,
    clientAddress: String? = nil, traceContext: TraceContext? = nil, fields: [String: FieldValue] = [:],
    headers: [String: String] = [:]
  ) {
    self.direction = direction
    self.client = client
    self.method = method
    self.url = url
    self.serverAddress = serverAddress
    self.serverPort = serverPort
    self.urlTemplate = urlTemplate
    self.scheme = scheme
    self.clientAddress = clientAddress
    self.traceContext = traceContext
    self.fields = fields
    self.headers = headers
  }

  var path: String {
    var url = url
    return url.withUTF8 {
      String(decoding: PercentEncoding.decoded(URLAuthority.path(in: $0)), as: UTF8.self)
    }
  }

  /// The scheme as labels and lines show it: `http`, `https`, `_OTHER` for anything else, or `nil` where it is unknown. Its
  /// case does not matter (RFC 3986, section 3.1).
  package var knownScheme: String? {
    guard let scheme, !scheme.isEmpty else { return nil }
    if scheme == "http" || scheme == "https" { return scheme }
    // What is longer than `https` is not converted: its length has no bound.
    let lowercased = scheme.utf8.count <= 5 ? scheme.lowercased() : ""
    return lowercased == "http" || lowercased == "https" ? lowercased : "_OTHER"
  }
}

/// Chooses the requests that are recorded. Requests that the filter excludes are sent unobserved.
///
/// ```swift
/// configuration.outbound.filter = !.hosts(["metadata.internal"])
/// configuration.inbound.filter = RequestFilter { $0.method != "OPTIONS" }
/// ```
///
/// The filter runs where a request begins: for a URLSession, within `resume()`, under a lock of Foundation.
/// It must be quick, and must not use a URLSession.
public struct RequestFilter: Sendable {
  private let predicate: (@Sendable (RequestDescription) -> Bool)?

  private init(_ predicate: (@Sendable (RequestDescription) -> Bool)?) {
    self.predicate = predicate
  }

  /// Chooses the requests for which the closure returns `true`. For a URLSession's request the closure sees
  /// the headers, except for the session's `httpAdditionalHeaders`, which Foundation on Linux adds later.
  public init(_ predicate: @escaping @Sendable (RequestDescription) -> Bool) {
    self.predicate = predicate
  }

  /// Chooses every request.
  public static let all = RequestFilter(nil)

  /// Chooses the requests for these hosts: whole names, in upper or lower case. A name does not include its
  /// subdomains, and ports are ignored. A request that the app serves has no host.
  public static func hosts(_ hosts: Set<String>) -> RequestFilter {
    let hosts = Set(hosts.map { $0.lowercased() })
    return RequestFilter { $0.serverAddress.map { hosts.contains($0.lowercased()) } ?? false }
  }

  /// Chooses the requests whose path, percent-decoded, begins with one of these prefixes: `/api` matches
  /// `/api/users`, and `/apiary` too.
  public static func paths(_ prefixes: [String]) -> RequestFilter {
    RequestFilter { request in
      let path = request.path
      return prefixes.contains { path.hasPrefix($0) }
    }
  }

  /// Chooses the requests of these clients, by the names of sessions and adapters.
  public static func clients(_ names: Set<String>) -> RequestFilter {
    RequestFilter { names.contains($0.client) }
  }

  /// Chooses the requests that the filter does not choose.
  public static prefix func ! (filter: RequestFilter) -> RequestFilter {
    RequestFilter { !filter.includes($0) }
  }

  /// Chooses the requests that both filters choose.
  public func and(_ other: RequestFilter) -> RequestFilter {
    RequestFilter { includes($0) && other.includes($0) }
  }

  /// Whether the filter chooses this request.
  public func includes(_ request: RequestDescription) -> Bool { predicate?(request) ?? true }

  /// Whether every request is chosen: then none needs to be described for the question.
  package var isAll: Bool { predicate == nil }
}
