/// A request as it came over the wire.
package struct OriginRequest: Sendable, Equatable {
  package var method: String
  package var target: String
  /// Names in lower case; a repeated header keeps its last value.
  package var headers: [String: String]
  package var body: [UInt8]

  /// The target without its query.
  package var path: String { String(target.prefix { $0 != "?" }) }
}
