/// The request methods that appear as themselves; any other is `_OTHER` (OpenTelemetry HTTP conventions,
/// `http.request.method`). Methods are case-sensitive (RFC 9110, section 9.1).
package struct KnownMethods: Sendable {
  /// Those of RFC 9110, section 9.3, PATCH (RFC 5789) and QUERY.
  package static let standard = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
  ]

  /// The most names that count: they are labels of series, and each request is compared with them.
  private static let limit = 256
  private static let other = "_OTHER"

  private let names: [String]
  /// The names of at most eight bytes, each in one number; 0 for a longer one.
  private let packed: [UInt64]
  private let longest: Int

  /// Takes the first 256 of the names that can be a label of their own: a name that is empty, longer than a label's value or
  /// `_OTHER` itself would share its series with others.
  init(_ names: [String]) {
    let usable = names.lazy.filter { name in
      !name.isEmpty && name.utf8.count <= RenderedLabels.maximumValueLength && name != Self.other
    }
    self.names = Array(usable.prefix(Self.limit))
    packed = self.names.map { Self.pack($0) ?? 0 }
    longest = self.names.map(\.utf8.count).max() ?? 0
  }

  /// How many numbers there are: one for each name, and one for any other.
  var count: Int { names.count + 1 }

  /// The place of a method among the known ones; one more than the last for any other.
  @inline(__always)
  func number(of method: String) -> Int {
    if let word = Self.pack(method) { return packed.firstIndex(of: word) ?? names.count }
    // A method that the app reads from elsewhere may be of any length: it is not even compared.
    guard method.utf8.count <= longest else { return names.count }
    return names.firstIndex(of: method) ?? names.count
  }

  /// The method of a number.
  func name(_ number: Int) -> String {
    names.indices.contains(number) ? names[number] : Self.other
  }

  /// The bytes of a short name as one number, never 0. `nil` where a NUL comes first, which the number would not show.
  @inline(__always)
  private static func pack(_ name: String) -> UInt64? {
    let count = name.utf8.count
    guard count <= 8, let first = name.utf8.first, first != 0 else { return nil }
    var word: UInt64 = 0
    for byte in name.utf8 { word = word << 8 | UInt64(byte) }
    return word
  }
}
