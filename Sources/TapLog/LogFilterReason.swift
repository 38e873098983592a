/// Why a line was not wanted: the `reason` label of `session_tap_log_filtered_lines_total`. A line that was wanted and
/// lost is dropped, not filtered (``LogDropReason``).
public enum LogFilterReason: Int, Sendable, Hashable, CaseIterable {
  /// Below the minimum severity.
  case severity
  /// Not among those that the sampling rate keeps.
  case sampling

  /// As the label has it.
  public var text: String {
    switch self {
    case .severity: "severity"
    case .sampling: "sampling"
    }
  }
}
