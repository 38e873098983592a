import TapCore

extension LogQuery {
  /// Reads the query of a URL such as `/logs?limit=20&severity=warn&client=payments&since=2026-11-21T09:30:00Z`.
  ///
  /// All four may be absent, and then count as in ``init(limit:severity:client:since:)``. Other names are ignored; of
  /// a name that stands twice the last one counts. `severity` is one of `trace`, `debug`, `info`, `warn` and
  /// `error`, in either case; `since` is a time of RFC 3339, section 5.6.
  ///
  /// - Throws: ``InvalidLogQuery`` with the name that has no such value.
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
      case "since":
        guard let time = Timestamp(rfc3339: item.value) else { throw .time }
        since = time
      default: break
      }
    }
  }
}
