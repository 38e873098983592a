import SessionTap
import TestSupport

/// Compares the list of active requests with what the app and the server know.
final class ActiveRequestsWatch: Sendable {
  private struct State {
    /// Requests that the app has started and whose ends it has not got.
    var living: Set<Int> = []
    /// Those that have been started since the last look.
    var started: Set<Int> = []
    /// Those that the app has begun to cancel.
    var cancelled: Set<Int> = []
    /// Those of the others that the server has got and never answers in full.
    var hanging: Set<Int> = []
  }

  struct Result: Sendable, Equatable {
    var looks = 0
    var listed = 0
    /// What has hung, and was listed.
    var hanging = 0
    var faults: [String] = []
  }

  private let state = Mutex(State())
  private let result = Mutex(Result())

  func starts(_ id: Int) {
    state.withLock { state in
      state.living.insert(id)
      state.started.insert(id)
    }
  }

  func ended(_ id: Int) {
    state.withLock { state in
      state.living.remove(id)
      state.cancelled.remove(id)
      state.hanging.remove(id)
    }
  }

  func isCancelled(_ id: Int) {
    state.withLock { state in
      state.cancelled.insert(id)
      state.hanging.remove(id)
    }
  }

  /// The server has got a request.
  func arrived(_ path: String) {
    guard path.hasSuffix("/hanging"), let id = Self.id(path) else { return }
    state.withLock { state in
      if state.living.contains(id), !state.cancelled.contains(id) { state.hanging.insert(id) }
    }
  }

  /// The part of the path before the last one.
  private static func id(_ path: String) -> Int? {
    path.split(separator: "/").dropLast().last.flatMap { Int($0) }
  }

  func look(_ list: () -> [RequestSnapshot]) {
    let before = state.withLock { state in
      state.started = []
      return state
    }
    let urls = list().map(\.request.url)
    let after = state.withLock { $0 }
    let listed = Set(urls.compactMap(Self.id))
    let possible = before.living.union(after.started)
    let certain = before.hanging.intersection(after.hanging)
    result.withLock { result in
      result.looks += 1
      result.listed += urls.count
      result.hanging += certain.count
      if listed.count != urls.count { result.faults.append("twice: \(urls)") }
      for id in listed.subtracting(possible) { result.faults.append("ended: \(id)") }
      for id in certain.subtracting(listed) { result.faults.append("missing: \(id)") }
    }
  }

  var seen: Result { result.withLock { $0 } }
}
