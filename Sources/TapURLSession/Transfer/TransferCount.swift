import Synchronization
import TapCore

/// Counts the transfers of a configuration's sessions, to say of most of them that they did not wait for a
/// connection.
///
/// A transfer waits only if the session's other transfers have taken all connections that one host gets
/// (`httpMaximumConnectionsPerHost`). While there are no more transfers than that, none waits, whatever their
/// hosts. One count and one instant do for that: the cost does not depend on how many transfers there are.
final class TransferCount: Sendable {
  private struct State {
    var count = 0
    /// The least of the sessions' limits.
    var limit = Int.max
    /// When there were last more transfers than connections.
    var lastExceeded: Instant?
  }

  private let state = Mutex(State())

  /// A transfer begins. Its session opens so many connections to a host; 0 or less is no limit.
  func enter(limit: Int, at now: Instant) {
    state.withLock { state in
      if limit > 0 { state.limit = min(state.limit, limit) }
      state.count += 1
      if state.count > state.limit { state.lastExceeded = now }
    }
  }

  /// A transfer that began at an instant ends. Returns whether there were never more transfers than
  /// connections meanwhile.
  func leave(at now: Instant, since start: Instant) -> Bool {
    state.withLock { state in
      if state.count > state.limit { state.lastExceeded = now }
      state.count -= 1
      return state.lastExceeded.map { $0 < start } ?? true
    }
  }
}
