public import TapCore

/// Which of the recent lines are wanted: what `GET /logs` takes as its query.
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

/// A query, made ready to be held against many lines.
struct LineFilter: Sendable {
  private let severity: LogSeverity
  /// `"client":"…"`, as a line has it.
  private let client: [UInt8]?
  /// As a line has it: the order of the texts is that of the times.
  private let since: [UInt8]?

  init(_ query: LogQuery) {
    severity = query.severity
    client = query.client.map { client in
      Self.rendered { json in
        json.append("\"client\":")
        json.string(client, limit: LineLimits().name)
      }
    }
    since = query.since.map { time in Self.rendered { $0.timestamp(time) } }
  }

  func matches(_ line: UnsafeRawBufferPointer, severity: LogSeverity) -> Bool {
    guard severity >= self.severity else { return false }
    if let since {
      // Every line begins with {"timestamp":" and 27 characters.
      let timestamp = line.dropFirst(14).prefix(since.count)
      if timestamp.lexicographicallyPrecedes(since) { return false }
    }
    guard let client else { return true }
    return JSONMembers(line).contains { $0.elementsEqual(client) }
  }

  private static func rendered(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 2_048) { memory, count in
      guard let base = memory.baseAddress else { return }
      var json = JSONWriter(base, capacity: memory.count)
      body(&json)
      count = json.count
    }
  }
}
