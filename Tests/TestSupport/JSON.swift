/// The members of a JSON object, such as a line of the log.
package typealias JSONMembers = [String: Any]

package func jsonObject(_ text: some StringProtocol) throws -> JSONMembers {
  try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? JSONMembers)
}

/// The object of each line.
package func jsonObjects(_ lines: some StringProtocol) throws -> [JSONMembers] {
  try lines.split(separator: "\n").map { try jsonObject($0) }
}

extension JSONMembers {
  /// The values of these members, with a blank between two and `-` for each that is missing: what a test
  /// compares a line by.
  package func row(_ keys: String...) -> String {
    keys.map { key in self[key].map { "\($0)" } ?? "-" }.joined(separator: " ")
  }

  package func number(_ key: String) -> Double? { self[key] as? Double }
}
