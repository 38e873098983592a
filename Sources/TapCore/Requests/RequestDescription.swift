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
  /// Headers of the request, by name, for a consumer that may show some: all those of a URLSession's request;
  /// of other requests those that the log shows, by their names in lowercase. Empty if they are not
  /// collected.
  public var headers: [String: String]

  /// Those of the recorder.
  package var knownMethods = KnownMethods.standard
  /// The method as labels, lines and spans show it: itself if it is one of the tap's known methods, or
  /// `_OTHER`.
  public var methodLabel: String { knownMethods.label(of: method) }
}

// In an extension, which leaves the memberwise initialiser to this module.
extension RequestDescription {
  /// Makes a description. Every request has a client and a method.
  public init(
    direction: RequestDirection = .outbound, client: String = "", method: String, url: String = "",
    serverAddress: String? = nil, serverPort: Int? = nil, urlTemplate: String? = nil, scheme: String? = nil,
    clientAddress: String? = nil, traceContext: TraceContext? = nil, fields: [String: FieldValue] = [:],
    headers: [String: String] = [:]
  ) {
    // Not one assignment after the other: of what an initialiser assigns, the compiler makes a copy.
    self.init(
      direction: direction, client: client, method: method, url: url, serverAddress: serverAddress,
      serverPort: serverPort, urlTemplate: urlTemplate, scheme: scheme, clientAddress: clientAddress,
      traceContext: traceContext, fields: fields, headers: headers, knownMethods: .standard)
  }

  var path: String {
    var url = url
    return url.withUTF8 {
      String(decoding: PercentEncoding.decoded(URLAuthority.path(in: $0)), as: UTF8.self)
    }
  }

  /// The scheme as labels and lines show it: `http`, `https`, `_OTHER` for anything else, or `nil` where it
  /// is unknown. Its case does not matter (RFC 3986, section 3.1).
  package var knownScheme: String? {
    guard let scheme, !scheme.isEmpty else { return nil }
    if scheme == "http" || scheme == "https" { return scheme }
    // What is longer than `https` is not converted: its length has no bound.
    let lowercased = scheme.utf8.count <= 5 ? scheme.lowercased() : ""
    return lowercased == "http" || lowercased == "https" ? lowercased : "_OTHER"
  }
}
