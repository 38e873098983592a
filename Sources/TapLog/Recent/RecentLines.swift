import Synchronization

/// The last lines of a log, in memory, and the followers of the log.
final class RecentLines: Sendable {
  private let state: Mutex<State>

  private struct State: ~Copyable {
    var lines: LineBuffer
    /// Weak: a released follower is not used any more.
    var followers: [Reference] = []

    /// The followers that have not ended.
    mutating func activeFollowers() -> [LogFollower] {
      followers.removeAll { $0.follower?.isOver ?? true }
      return followers.compactMap(\.follower)
    }
  }

  private struct Reference: Sendable {
    weak var follower: LogFollower?
  }

  init(lines: Int, bytes: Int) {
    state = Mutex(State(lines: LineBuffer(byteLimit: bytes, lineLimit: lines)))
  }

  /// Adds the lines of a batch, in their order. Called by the writer alone.
  func add(_ batch: borrowing LineBuffer) {
    let followers = state.withLock { state in
      batch.forEach { line, severity in
        while !state.lines.append(line, severity: severity), !state.lines.isEmpty {
          state.lines.removeFirst()
        }
      }
      return state.activeFollowers()
    }
    for follower in followers { follower.add(batch) }
  }

  /// The newest lines that match, oldest first.
  func lines(_ query: LogQuery) -> [UInt8] { state.withLock { Self.lines($0.lines, query) } }

  private static func lines(_ lines: borrowing LineBuffer, _ query: LogQuery) -> [UInt8] {
    let filter = LineFilter(query)
    var matches: [UnsafeRawBufferPointer] = []
    lines.forEach { line, severity in
      if filter.matches(line, severity: severity) { matches.append(line) }
    }
    var result: [UInt8] = []
    for line in matches.suffix(max(0, query.limit)) { result += line }
    return result
  }

  /// A follower that gets the newest lines that match, and from then on each new one. `nil` if there are too many
  /// followers.
  func follow(_ query: LogQuery, limits: LogFollower.Limits, onLines: @escaping @Sendable () -> Void)
    -> LogFollower?
  {
    state.withLock { state in
      guard state.activeFollowers().count < limits.followers else { return nil }
      let follower = LogFollower(
        query, backlog: Self.lines(state.lines, query), byteLimit: limits.bytes, onLines: onLines)
      state.followers.append(Reference(follower: follower))
      return follower
    }
  }

  /// Ends all followers: the log is shut down.
  func finish() {
    let followers = state.withLock { $0.activeFollowers() }
    for follower in followers { follower.finish() }
  }
}
