public import TapCore

/// The counts of a log. Each line is written, dropped, or pending.
public struct LogStatistics: Sendable, Hashable {
  var written = Tally<LogSeverity>()
  var dropped = Tally<LogDropReason>()
  var filtered = Tally<LogFilterReason>()

  /// Bytes written, newlines included.
  public internal(set) var bytes: UInt64 = 0
  /// Failed writes. A failed write is tried again, so this is not the number of lost lines.
  public internal(set) var writeErrors: UInt64 = 0
  /// Lines in the queue and in the writer's batch.
  public internal(set) var pending: UInt64 = 0

  /// Lines written.
  public var lines: UInt64 { written.total }

  /// Lines dropped, for all reasons.
  public var droppedLines: UInt64 { dropped.total }

  /// Lines written with a severity.
  public func lines(_ severity: LogSeverity) -> UInt64 { written[severity] }

  /// Lines dropped for a reason.
  public func droppedLines(_ reason: LogDropReason) -> UInt64 { dropped[reason] }

  /// Lines filtered out for a reason.
  public func filteredLines(_ reason: LogFilterReason) -> UInt64 { filtered[reason] }
}

/// A registry that ``RequestLog`` is registered with exposes `session_tap_log_lines_total`,
/// `session_tap_log_dropped_lines_total`, `session_tap_log_filtered_lines_total`, `session_tap_log_bytes_total` and `session_tap_log_write_errors_total`.
extension RequestLog: Collector {
  /// The current metrics of the log.
  public func collect() -> [MetricFamily] {
    let statistics = statistics
    func counter(_ name: String, _ help: String, _ samples: [MetricFamily.Sample]) -> MetricFamily {
      MetricFamily(name: name, help: help, kind: .counter, samples: samples)
    }
    return [
      counter(
        "session_tap_log_lines_total", "Log lines written.",
        LogSeverity.allCases.map { .init(labels: ["level": $0.text], value: Double(statistics.lines($0))) }),
      counter(
        "session_tap_log_dropped_lines_total", "Log lines dropped.",
        LogDropReason.allCases.map {
          .init(labels: ["reason": $0.text], value: Double(statistics.droppedLines($0)))
        }),
      counter(
        "session_tap_log_filtered_lines_total", "Log lines left out by severity or sampling.",
        LogFilterReason.allCases.map {
          .init(labels: ["reason": $0.text], value: Double(statistics.filteredLines($0)))
        }),
      counter(
        "session_tap_log_bytes_total", "Bytes of log written.", [.init(value: Double(statistics.bytes))]),
      counter(
        "session_tap_log_write_errors_total", "Writes of log lines that failed and were tried again.",
        [.init(value: Double(statistics.writeErrors))]),
    ]
  }
}

/// A count for each case of a small enumeration.
struct Tally<Key: CaseIterable & RawRepresentable & Sendable>: Sendable, Hashable where Key.RawValue == Int {
  private var counts = [UInt64](repeating: 0, count: Key.allCases.count)

  var total: UInt64 { counts.reduce(0, &+) }

  subscript(key: Key) -> UInt64 {
    get { counts.indices.contains(key.rawValue) ? counts[key.rawValue] : 0 }
    set { if counts.indices.contains(key.rawValue) { counts[key.rawValue] = newValue } }
  }

  static func += (lhs: inout Tally, rhs: Tally) {
    for index in lhs.counts.indices { lhs.counts[index] &+= rhs.counts[index] }
  }
}
