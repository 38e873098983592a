import TapCore

/// Writes a line of the app's own.
struct AppLineEncoder: Sendable {
  let fields: LineFields
  let limits: LineLimits

  func write(
    _ message: String, _ extra: [String: FieldValue], severity: LogSeverity, time: Timestamp,
    to line: inout LineWriter
  ) {
    line.begin(time, severity, event: "app")
    line.part { json in
      json.append(",\"message\":")
      json.string(message, limit: limits.message)
    }
    fields.write(extra, to: &line)
  }
}
