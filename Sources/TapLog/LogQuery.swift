/// A query for recent lines.
public struct LogQuery: Sendable, Hashable {
  /// The maximum number of lines; the newest are chosen.
  public var limit: Int
  /// The least severity of the lines.
  public var severity: LogSeverity
  /// Only lines with this `client`.
  public var client: String?
  /// Only lines with this `trace_id`.
  public var traceID: String?
  /// Only lines that came after the one of this number (``RecentLines/Answer/last``).
  package var after: Int64?

  /// Makes a query. By default it asks for the newest 100 lines.
  public init(
    limit: Int = 100, severity: LogSeverity = .trace, client: String? = nil, traceID: String? = nil
  ) {
    self.limit = limit
    self.severity = severity
    self.client = client
    self.traceID = traceID
  }

  /// Reads the query of a URL such as `/logs?limit=20&severity=warn&client=payments`.
  ///
  /// `trace_id` asks for the lines of one trace, `after` for the lines after the one with this number. All
  /// may be absent; the defaults are those of ``init(limit:severity:client:traceID:)``. Other names are
  /// ignored. If a name occurs twice, the last one is used. `severity` is one of `trace`, `debug`, `info`,
  /// `warn` and `error`, in upper or lower case.
  ///
  /// - Throws: ``InvalidLogQuery`` with the name whose value is invalid.
  public init(items: [(name: String, value: String)]) throws(InvalidLogQuery) {
    self.init()
    for item in items {
      switch item.name {
      case "limit":
        guard let count = Int(item.value), count >= 0 else { throw .lineCount }
        limit = count
      case "severity":
        let text = item.value.uppercased()
        guard let known = LogSeverity.allCases.first(where: { $0.text == text }) else { throw .severity }
        severity = known
      case "client": client = item.value
      case "trace_id": traceID = item.value
      case "after":
        guard let number = Int64(item.value), number >= 0 else { throw .lineNumber }
        after = number
      default: break
      }
    }
  }
}

/// Why the query of a URL for log lines is invalid.
public struct InvalidLogQuery: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name of the item and its valid values, in one line.
  public let description: String

  static let lineCount = InvalidLogQuery(description: "limit must be a number of lines, 0 or more")
  static let lineNumber = InvalidLogQuery(description: "after must be the number of a line, 0 or more")
  static let severity = InvalidLogQuery(
    description: "severity must be one of " + LogSeverity.allCases.map(\.text).joined(separator: ", "))
}
