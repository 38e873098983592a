/// The life of one request as a state machine: it starts once, and what started ends once.
///
/// Foundation starts a loader again after a suspension, stops one that never started, and reports failures
/// after a finish. All of those are transitions that answer "nothing to do".
struct RequestLifecycle<Start, End> {
  private enum Phase {
    case idle
    case loading(Start)
    case ended(Start, End)
  }

  private var phase = Phase.idle

  /// Makes a request that has not started.
  init() {}

  /// Whether the request runs: it started and has not ended.
  var isLoading: Bool {
    if case .loading = phase { true } else { false }
  }

  /// What the start left, once there was one.
  var start: Start? {
    switch phase {
    case .idle: nil
    case .loading(let start), .ended(let start, _): start
    }
  }

  /// What the end left, once there was one.
  var end: End? {
    if case .ended(_, let end) = phase { end } else { nil }
  }

  /// Starts the request. `false` if it had started before.
  mutating func start(_ start: Start) -> Bool {
    guard case .idle = phase else { return false }
    phase = .loading(start)
    return true
  }

  /// Ends the request. `false` if it never started or has ended already.
  mutating func end(_ end: End) -> Bool {
    guard case .loading(let start) = phase else { return false }
    phase = .ended(start, end)
    return true
  }
}
