/// A query for recent lines.
public struct LogQuery: Sendable {
  /// The maximum number of lines; the newest are chosen.
  public var limit: Int
  /// The least severity of the lines.
  public var severity: LogSeverity
  /// Only lines with this `client.name`.
  public var client: String?
  /// Only lines with this `trace_id`.
  public var traceID: String?
  /// Only lines that came after the one of this number (``RecentLines/Answer/last``).
  package var after: Int64?

  /// Makes a query. By default it asks for the newest 100 lines.
  public init(
    limit: Int = 100, severity: LogSeverity = .trace, client: String? = nil, traceID: String? = nil
  ) {
    (self.limit, self.severity, self.client, self.traceID) = (limit, severity, client, traceID)
  }

  /// Reads the query of a URL such as `/logs?limit=20&severity=warn`. Other names are ignored; of several
  /// with one name, the last is used.
  package init(items: [(name: String, value: String)]) throws(Invalid) {
    self.init()
    for (name, value) in items {
      switch name {
      case "limit":
        guard let count = Int(value), count >= 0 else {
          throw Invalid(description: "limit must be a number of lines, 0 or more")
        }
        limit = count
      case "severity":
        guard let known = LogSeverity.allCases.first(where: { $0.text == value.uppercased() }) else {
          let names = LogSeverity.allCases.map(\.text).joined(separator: ", ")
          throw Invalid(description: "severity must be one of \(names)")
        }
        severity = known
      case "client": client = value
      case "trace_id": traceID = value
      case "after":
        guard let number = Int64(value), number >= 0 else {
          throw Invalid(description: "after must be the number of a line, 0 or more")
        }
        after = number
      default: break
      }
    }
  }

  /// The name whose value is invalid, and its valid values.
  package struct Invalid: Error, CustomStringConvertible {
    package let description: String
  }
}
