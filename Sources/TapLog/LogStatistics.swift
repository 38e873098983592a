public import TapCore

/// The counts of a log. Each line is written, dropped, or pending.
package struct LogStatistics: Sendable {
  var written: Tally<LogSeverity> = [:]
  var dropped: Tally<LogDropReason> = [:]
  var filtered: Tally<LogFilterReason> = [:]

  /// Bytes written, newlines included.
  package internal(set) var bytes: UInt64 = 0
  /// Failed writes, rotations, removals of old files, and synchronizations. What failed is tried again, so
  /// this is not the number of lost lines.
  package internal(set) var writeErrors: UInt64 = 0
  /// Lines in the queue and in the writer's batch.
  package internal(set) var pending: UInt64 = 0

  /// Adds the counts of another place of the same log.
  mutating func add(_ other: LogStatistics) {
    written.merge(other.written, uniquingKeysWith: &+)
    dropped.merge(other.dropped, uniquingKeysWith: &+)
    bytes &+= other.bytes
    writeErrors &+= other.writeErrors
    pending &+= other.pending
  }

  package var lines: UInt64 { written.total }
  package var droppedLines: UInt64 { dropped.total }
  package var filteredLines: UInt64 { filtered.total }

  package func lines(_ severity: LogSeverity) -> UInt64 { written[severity, default: 0] }

  package func droppedLines(_ reason: LogDropReason) -> UInt64 { dropped[reason, default: 0] }

  package func filteredLines(_ reason: LogFilterReason) -> UInt64 { filtered[reason, default: 0] }
}

extension RequestLog: Collector {
  /// The current metrics of the log, `session_tap_log_lines_total` and others.
  public func collect() -> [MetricFamily] {
    let statistics = statistics
    func family(_ name: String, _ help: String, _ samples: [MetricFamily.Sample]) -> MetricFamily {
      MetricFamily(name: "session_tap_log_\(name)_total", help: help, kind: .counter, samples: samples)
    }
    func samples<Key: CaseIterable>(
      of tally: Tally<Key>, by label: String, _ text: (Key) -> String
    ) -> [MetricFamily.Sample] {
      Key.allCases.map { .init(labels: [label: text($0)], value: Double(tally[$0, default: 0])) }
    }
    let (dropped, filtered) = (statistics.dropped, statistics.filtered)
    return [
      family("lines", "Log lines written.", samples(of: statistics.written, by: "level", \.text)),
      family("dropped_lines", "Log lines dropped.", samples(of: dropped, by: "reason", \.rawValue)),
      family(
        "filtered_lines", "Log lines left out by sampling, and of waiting requests beyond 100 a minute.",
        samples(of: filtered, by: "reason", \.rawValue)),
      family("bytes", "Bytes of log written.", [.init(value: Double(statistics.bytes))]),
      family(
        "write_errors", "Writes, rotations and synchronizations of the log that failed, to be tried again.",
        [.init(value: Double(statistics.writeErrors))]),
    ]
  }
}

/// Why a line was dropped: the `reason` label of `session_tap_log_dropped_lines_total`.
package enum LogDropReason: String, Sendable, CaseIterable {
  /// The queue was full: lines came faster than the destination took them.
  case queueFull = "queue_full"
  /// The destination failed: the disk is full, the file cannot be opened, the pipe has no reader.
  case writeError = "write_error"
  /// The log was shut down before the line came, or before it could be written.
  case shutdown
}

/// Numbers of lines, by severity or by reason.
typealias Tally<Key: Hashable> = [Key: UInt64]

extension Dictionary where Value == UInt64 { var total: UInt64 { values.reduce(0, &+) } }
