import Synchronization

/// A reader of a log as it is written. A follower that is slower than the log is ended, not waited for. The log does not
/// retain it.
public final class LogFollower: Sendable {
  private let filter: LineFilter
  private let byteLimit: Int
  private let onLines: @Sendable () -> Void
  private let state: Mutex<State>

  private struct State {
    var waiting: [UInt8]
    var end: End?
  }

  /// Why nothing more comes.
  public enum End: Sendable, Hashable {
    /// The reader was too slow: more than its share of memory was waiting for it. Lines are missing.
    case tooSlow
    /// The log was shut down.
    case finished
    /// The reader has ended it.
    case cancelled
  }

  struct Limits: Sendable {
    var followers: Int
    var bytes: Int
  }

  init(_ query: LogQuery, backlog: [UInt8], byteLimit: Int, onLines: @escaping @Sendable () -> Void) {
    filter = LineFilter(query)
    self.byteLimit = byteLimit
    self.onLines = onLines
    state = Mutex(State(waiting: backlog))
  }

  /// Whole lines that have come since the last call, or `nil` if nothing more comes: ``end`` says why. Safe from
  /// any thread.
  public func read() -> [UInt8]? {
    state.withLock { state in
      if state.waiting.isEmpty, state.end != nil { return nil }
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  /// Why nothing more comes, or `nil` as long as something may.
  public var end: End? { state.withLock { $0.end } }

  /// Ends it. Lines that wait are gone.
  public func cancel() {
    state.withLock { state in
      state.waiting = []
      if state.end == nil { state.end = .cancelled }
    }
  }

  var isOver: Bool { end != nil }

  /// Adds the lines that match.
  func add(_ batch: borrowing LineBuffer) {
    let hasChanged = state.withLock { state in
      guard state.end == nil else { return false }
      let wasEmpty = state.waiting.isEmpty
      batch.forEach { line, severity in
        guard state.end == nil, filter.matches(line, severity: severity) else { return }
        if state.waiting.count + line.count > byteLimit {
          state.waiting = []
          state.end = .tooSlow
        } else {
          state.waiting += line
        }
      }
      return state.end != nil || wasEmpty && !state.waiting.isEmpty
    }
    if hasChanged { onLines() }
  }

  func finish() {
    let hasChanged = state.withLock { state in
      defer { if state.end == nil { state.end = .finished } }
      return state.end == nil
    }
    if hasChanged { onLines() }
  }
}
