import TapCore

/// Writes a line of the app's own.
struct AppLineEncoder: Sendable {
  let fields: LineFields
  let limits: LineLimits

  /// - Parameter trace: That of the request which is being served. What the fields say of a trace wins.
  func write(
    _ message: String, _ extra: [String: FieldValue], severity: LogSeverity, time: Timestamp,
    trace: TraceContext?, to line: inout LineWriter
  ) {
    line.begin(time, severity, event: "app")
    line.part { json in
      json.append(",\"message\":")
      json.string(message, limit: limits.message)
    }
    if let trace, extra["trace_id"] == nil, extra["span_id"] == nil { line.part { $0.trace(trace) } }
    fields.write(extra, to: &line)
  }
}

/// The line that says how many lines are missing at its place, and why.
struct DropReport {
  let dropped: Tally<LogDropReason>
  let time: Timestamp

  static let severity = LogSeverity.warn
  /// More than the line ever needs.
  static let capacity = 512

  /// Puts the line into a buffer of ``capacity`` bytes.
  func write(to buffer: inout LineBuffer) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.capacity) { memory in
      guard let base = memory.baseAddress else { return }
      var line = LineWriter(base, capacity: memory.count)
      write(to: &line)
      _ = buffer.append(line.finish(), severity: Self.severity)
    }
  }

  private func write(to line: inout LineWriter) {
    line.begin(time, Self.severity, event: "session_tap.log.dropped")
    line.part { json in
      json.append(",\"dropped\":")
      json.integer(dropped.total)
    }
    for reason in LogDropReason.allCases where dropped[reason] > 0 {
      line.part { json in
        json.append(",\"dropped.")
        json.append(reason.staticText)
        json.append("\":")
        json.integer(dropped[reason])
      }
    }
  }
}

extension LogDropReason {
  fileprivate var staticText: StaticString {
    switch self {
    case .queueFull: "queue_full"
    case .writeError: "write_error"
    case .shutdown: "shutdown"
    }
  }
}
