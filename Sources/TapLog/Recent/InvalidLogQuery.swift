/// What is wrong with the query of a URL that asks for log lines.
public struct InvalidLogQuery: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name of the item, and what its value has to be: one line.
  public let description: String

  static let lineCount = InvalidLogQuery(description: "limit must be a number of lines, 0 or more")
  static let severity = InvalidLogQuery(
    description: "severity must be one of " + LogSeverity.allCases.map(\.text).joined(separator: ", "))
  static let time = InvalidLogQuery(
    description: "since must be a time such as 2026-11-21T09:30:00Z (RFC 3339), from 1678 to 2262")
}
