/// The life of one request as a state machine: it starts once, and what started ends once.
///
/// Foundation starts a loader again after a suspension, stops one that never started, and reports failures
/// after a finish. All of those are transitions that answer "nothing to do".
struct RequestLifecycle<Started> {
  private enum Phase {
    case idle
    case loading(Started)
    case ended
  }

  private var phase = Phase.idle

  /// Makes a request that has not started.
  init() {}

  /// Whether the request runs: it started and has not ended.
  var isLoading: Bool {
    if case .loading = phase { true } else { false }
  }

  /// Whether the request started, ended or not.
  var hasStarted: Bool {
    if case .idle = phase { false } else { true }
  }

  /// What the start left, while the request runs.
  var started: Started? {
    if case .loading(let started) = phase { started } else { nil }
  }

  /// Starts the request. `false` if it had started before.
  mutating func start(_ started: Started) -> Bool {
    guard case .idle = phase else { return false }
    phase = .loading(started)
    return true
  }

  /// Ends the request, and answers what its start left: `nil` if it never started or has ended already.
  mutating func end() -> Started? {
    guard case .loading(let started) = phase else { return nil }
    phase = .ended
    return started
  }
}
