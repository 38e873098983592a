/// Why a line was dropped: the `reason` label of `session_tap_log_dropped_lines_total`.
package enum LogDropReason: String, Sendable, CaseIterable {
  /// The queue was full: lines came faster than the destination took them.
  case queueFull = "queue_full"
  /// The destination failed: the disk is full, the file cannot be opened, the pipe has no reader.
  case writeError = "write_error"
  /// The log was shut down before the line came, or before it could be written.
  case shutdown
}
