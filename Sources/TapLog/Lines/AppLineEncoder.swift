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
    line.part { $0.member("message", message, limit: limits.message) }
    if let trace, extra["trace_id"] == nil, extra["span_id"] == nil { line.part { $0.trace(trace) } }
    fields.write(extra, to: &line)
  }
}
