import TapCore

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
