public import TapCore

/// A registry that ``RequestLog`` is registered with exposes `session_tap_log_lines_total`,
/// `session_tap_log_dropped_lines_total`, `session_tap_log_filtered_lines_total`, `session_tap_log_bytes_total` and `session_tap_log_write_errors_total`.
extension RequestLog: Collector {
  /// The families as they are now.
  public func collect() -> [MetricFamily] {
    let statistics = statistics
    return [
      MetricFamily(
        name: "session_tap_log_lines_total", help: "Log lines written.", kind: .counter,
        samples: LogSeverity.allCases.map {
          .init(labels: ["level": $0.text], value: Double(statistics.lines($0)))
        }),
      MetricFamily(
        name: "session_tap_log_dropped_lines_total", help: "Log lines dropped.", kind: .counter,
        samples: LogDropReason.allCases.map {
          .init(labels: ["reason": $0.text], value: Double(statistics.droppedLines($0)))
        }),
      MetricFamily(
        name: "session_tap_log_filtered_lines_total", help: "Log lines left out by severity or sampling.",
        kind: .counter,
        samples: LogFilterReason.allCases.map {
          .init(labels: ["reason": $0.text], value: Double(statistics.filteredLines($0)))
        }),
      MetricFamily(
        name: "session_tap_log_bytes_total", help: "Bytes of log written.", kind: .counter,
        samples: [.init(value: Double(statistics.bytes))]),
      MetricFamily(
        name: "session_tap_log_write_errors_total",
        help: "Writes of log lines that failed and were tried again.",
        kind: .counter, samples: [.init(value: Double(statistics.writeErrors))]),
    ]
  }
}
