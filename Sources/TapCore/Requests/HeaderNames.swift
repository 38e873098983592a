/// The names of the headers that a log shows, sorted and in lowercase (OpenTelemetry,
/// `http.request.header.<key>`): one order, and no key twice. No others are read of a request that no
/// URLSession makes.
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
