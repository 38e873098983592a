/// Why a line was filtered out: the `reason` label of `session_tap_log_filtered_lines_total`. A line that is
/// lost is dropped, not filtered (``LogDropReason``).
package enum LogFilterReason: String, Sendable, CaseIterable {
  /// Below the minimum severity.
  case severity
  /// Not kept by the sampling rate.
  case sampling
}
