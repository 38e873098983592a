/// What is known about a request when it begins. The values are the app's: nothing is redacted or cut here,
/// and only the host is normalised, to small letters.
public struct RequestDescription: Sendable, Equatable {
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
  /// A low-cardinality form of the path, such as `/users/{id}`, if the app gave one or the tap learns them.
  /// For an inbound request, the route.
  public var urlTemplate: String?
  /// The scheme of an inbound request, as the app's server gave it.
  public var scheme: String?
  /// The address of an inbound request's caller, if the app gave it.
  public var clientAddress: String?
  /// The place of the request in its trace. A URLSession's request has one if it carries a `traceparent`
  /// header, if its `tapContext` has one, or if it is made within a trace; any other request always has one.
  public var traceContext: TraceContext?
  /// The app's fields of the request's log line, by key. Metrics ignore them.
  public var fields: [String: FieldValue]
  /// Headers of the request by name: all those of a URLSession's request, of others those that the log shows,
  /// in lowercase. Empty if they are not collected.
  public var headers: [String: String]

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
    // Not assignment by assignment: the compiler copies what an initialiser assigns.
    self.init(
      direction: direction, client: client, method: method, url: url, serverAddress: serverAddress,
      serverPort: serverPort, urlTemplate: urlTemplate, scheme: scheme, clientAddress: clientAddress,
      traceContext: traceContext, fields: fields, headers: headers, knownMethods: .standard)
  }

  /// Describes a request that the app makes, as a recorder has it. The app's template takes precedence.
  package init(
    madeBy client: String, method: String, url: String, urlTemplate: String?, traceContext: TraceContext?,
    fields: [String: FieldValue], headers: [String: String], recorder: RequestRecorder
  ) {
    let server = URLAuthority(url)
    self.init(
      direction: .outbound, client: client, method: method, url: url, serverAddress: server?.host,
      serverPort: server?.port, urlTemplate: urlTemplate ?? recorder.outboundTemplate(of: url, to: server),
      traceContext: traceContext, fields: fields, headers: headers, knownMethods: recorder.knownMethods)
  }

  /// The path of the URL, percent-decoded and without the query.
  public var path: String {
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
    // Longer texts, whose length has no bound, are not converted.
    let lowercased = scheme.utf8.count <= 5 ? scheme.lowercased() : ""
    return lowercased == "http" || lowercased == "https" ? lowercased : RequestLabels.other
  }
}

/// The direction of a request.
public enum RequestDirection: Sendable, Hashable, CaseIterable {
  /// The app makes it.
  case outbound
  /// The app serves it.
  case inbound

  /// A 4xx status code is an error for a client, but not for a server, whose caller made it (OpenTelemetry
  /// HTTP conventions, "Status"). One above 599 counts as a 5xx (RFC 9110, section 15).
  func isError(_ statusCode: Int) -> Bool { ((self == .inbound ? 500 : 400)...999).contains(statusCode) }
}

/// The value of a field that an app adds to a log line. Literals of all four kinds convert.
public enum FieldValue: Sendable, Equatable {
  /// Text.
  case string(String)
  /// A whole number.
  case integer(Int64)
  /// A number. One that is not finite is written as text, because JSON has no form for it.
  case double(Double)
  /// True or false.
  case boolean(Bool)
}

extension FieldValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral
{
  /// Makes a text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// Makes a whole number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// Makes a number.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// Makes true or false.
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
}

/// The request methods that appear as themselves; any other is `_OTHER` (OpenTelemetry HTTP conventions,
/// `http.request.method`). Methods are case-sensitive (RFC 9110, section 9.1).
package struct KnownMethods: Sendable, Equatable {
  /// Those of RFC 9110, section 9.3, PATCH (RFC 5789) and QUERY.
  package static let standard = KnownMethods([
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
  ])

  /// The most names that count: they are labels of series.
  private static let limit = 256

  package let names: [String]

  /// Takes the first 256 of the names that can be a label of their own: a name that is empty, longer than a
  /// label's value or `_OTHER` itself would share its series with others.
  package init(_ names: [String]) {
    let usable = names.lazy.filter { name in
      !name.isEmpty && name.utf8.count <= RenderedLabels.maximumValueLength && name != RequestLabels.other
    }
    self.names = Array(usable.prefix(Self.limit))
  }

  func label(of method: String) -> String {
    // The app may read a method of any length: a long one is not compared.
    method.utf8.count <= RenderedLabels.maximumValueLength && names.contains(method)
      ? method : RequestLabels.other
  }
}

/// The names of the headers that a log shows, sorted and in lowercase (OpenTelemetry,
/// `http.request.header.<key>`): one order, no key twice. Requests without a URLSession are asked for no
/// other headers.
package struct HeaderNames: Sendable {
  package let request: [String]
  package let response: [String]

  package init(request: Set<String> = [], response: Set<String> = []) {
    self.request = Set(request.map { $0.lowercased() }).sorted()
    self.response = Set(response.map { $0.lowercased() }).sorted()
  }
}

extension [String] {
  /// The headers of these names that a message has.
  func values(_ header: (String) -> String?) -> [String: String] {
    var values: [String: String] = [:]
    for name in self { values[name] = header(name) }
    return values
  }
}
