/// The request methods that appear as themselves; any other is `_OTHER` (OpenTelemetry HTTP conventions,
/// `http.request.method`). Methods are case-sensitive (RFC 9110, section 9.1).
package struct KnownMethods: Sendable {
  /// Those of RFC 9110, section 9.3, PATCH (RFC 5789) and QUERY.
  package static let standard = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
  ]

  private let names: [String]
  /// The names of at most eight bytes, each in one number; 0 for a longer one.
  private let packed: [UInt64]
  private let longest: Int

  init(_ names: [String]) {
    self.names = names
    packed = names.map { Self.pack($0) ?? 0 }
    longest = names.map(\.utf8.count).max() ?? 0
  }

  /// How many numbers there are: one for each name, and one for any other.
  var count: Int { names.count + 1 }

  /// The place of a method among the known ones; one more than the last for any other.
  @inline(__always)
  func number(of method: String) -> Int {
    if let word = Self.pack(method) { return packed.firstIndex(of: word) ?? names.count }
    // A method that the app reads from elsewhere may be of any length: it is not even compared.
    guard (1...longest).contains(method.utf8.count) else { return names.count }
    return names.firstIndex(of: method) ?? names.count
  }

  /// The method of a number.
  func name(_ number: Int) -> String {
    names.indices.contains(number) ? names[number] : "_OTHER"
  }

  /// The bytes of a short name as one number, never 0.
  @inline(__always)
  private static func pack(_ name: String) -> UInt64? {
    let count = name.utf8.count
    guard count <= 8, count > 0 else { return nil }
    var word: UInt64 = 0
    for byte in name.utf8 { word = word << 8 | UInt64(byte) }
    return word == 0 ? nil : word
  }
}
