import SessionTap
import Synchronization

/// Counts the starts and the ends of each request, which is known by the number in its path.
final class EndCounter: RequestConsumer {
  private struct State {
    var starts: [UInt8]
    var ends: [UInt8]
  }

  private let state: Mutex<State>

  init(count: Int) {
    state = Mutex(State(starts: Array(repeating: 0, count: count), ends: Array(repeating: 0, count: count)))
  }

  /// How many requests started and ended exactly once.
  var once: Int { state.withLock { state in zip(state.starts, state.ends).count { $0 == (1, 1) } } }
  /// How many neither started nor ended.
  var never: Int { state.withLock { state in zip(state.starts, state.ends).count { $0 == (0, 0) } } }

  func requestStarted(_ request: RequestDescription) {
    guard let id = Self.id(request.url) else { return }
    state.withLock { if $0.starts.indices.contains(id) { $0.starts[id] &+= 1 } }
  }

  func requestEnded(_ observation: RequestObservation) {
    guard let id = Self.id(observation.request.url) else { return }
    state.withLock { if $0.ends.indices.contains(id) { $0.ends[id] &+= 1 } }
  }

  /// The first part of the path.
  static func id(_ url: some StringProtocol) -> Int? {
    let parts = url.split(separator: "/", omittingEmptySubsequences: true)
    return parts.count > 2 ? Int(parts[2]) : nil
  }
}
