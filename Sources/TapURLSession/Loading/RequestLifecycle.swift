/// The life of one request as a state machine: it starts once, and what started ends once.
///
/// Foundation starts a loader again after a suspension, stops one that never started, and reports failures
/// after a finish. All of those are transitions that answer "nothing to do".
struct RequestLifecycle<Start, End> {
  /// What the start left, once there was one.
  private(set) var start: Start?
  /// What the end left, once there was one.
  private(set) var end: End?

  /// Whether the request runs: it started and has not ended.
  var isLoading: Bool { start != nil && end == nil }

  /// Starts the request. `false` if it had started before.
  mutating func start(_ start: Start) -> Bool {
    guard self.start == nil else { return false }
    self.start = start
    return true
  }

  /// Ends the request. `false` if it never started or has ended already.
  mutating func end(_ end: End) -> Bool {
    guard isLoading else { return false }
    self.end = end
    return true
  }
}
