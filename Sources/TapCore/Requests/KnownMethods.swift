/// The request methods that appear as themselves; any other is `_OTHER` (OpenTelemetry HTTP conventions,
/// `http.request.method`). Methods are case-sensitive (RFC 9110, section 9.1).
package struct KnownMethods: Sendable, Hashable {
  /// Those of RFC 9110, section 9.3, PATCH (RFC 5789) and QUERY.
  package static let standard = KnownMethods([
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
  ])

  /// The most names that count: they are labels of series.
  private static let limit = 256
  package static let other = "_OTHER"

  package let names: [String]

  /// Takes the first 256 of the names that can be a label of their own: a name that is empty, longer than a
  /// label's value or `_OTHER` itself would share its series with others.
  package init(_ names: [String]) {
    let usable = names.lazy.filter { name in
      !name.isEmpty && name.utf8.count <= RenderedLabels.maximumValueLength && name != Self.other
    }
    self.names = Array(usable.prefix(Self.limit))
  }

  /// The label of a method.
  func label(of method: String) -> String {
    // A method that the app reads from elsewhere may be of any length: a longer one is not compared.
    method.utf8.count <= RenderedLabels.maximumValueLength && names.contains(method) ? method : Self.other
  }
}
