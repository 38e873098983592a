/// The request methods that appear as themselves; any other is `_OTHER` (OpenTelemetry HTTP conventions,
/// `http.request.method`). Methods are case-sensitive (RFC 9110, section 9.1).
struct KnownMethods: Sendable {
  private let methods: Set<String>
  private let longest: Int

  init(_ methods: [String]) {
    self.methods = Set(methods)
    longest = methods.map(\.utf8.count).max() ?? 0
  }

  /// The method itself, or `_OTHER`.
  func normalize(_ method: String) -> String {
    // A method that the app reads from elsewhere may be of any length: it is not even hashed.
    method.utf8.count <= longest && methods.contains(method) ? method : "_OTHER"
  }
}
