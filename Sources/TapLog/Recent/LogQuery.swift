public import TapCore

/// Which of the recent lines are wanted.
public struct LogQuery: Sendable, Hashable {
  /// The most lines, the newest ones.
  public var limit: Int
  /// The least severity.
  public var severity: LogSeverity
  /// Only lines with this `client`.
  public var client: String?
  /// Only lines of this time or later, to the microsecond.
  public var since: Timestamp?

  /// The newest 100 lines, unless said otherwise.
  public init(
    limit: Int = 100, severity: LogSeverity = .trace, client: String? = nil, since: Timestamp? = nil
  ) {
    self.limit = limit
    self.severity = severity
    self.client = client
    self.since = since
  }
}
