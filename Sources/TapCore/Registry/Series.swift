import Synchronization

/// One series, or as many as its table has columns.
final class Series<Row: AnyObject & Sendable>: Sendable {
  private struct State {
    var row: Row?
    var activity: UInt64 = 0
    /// Since when nothing has been recorded, `never` if that is unknown: an optional would take another 16 bytes of each series.
    var idleSince = Instant.never
  }

  let labels: RenderedLabels
  let isOverflow: Bool
  let created: Timestamp
  private let state: Mutex<State>

  init(labels: RenderedLabels, row: Row, created: Timestamp) {
    self.labels = labels
    self.created = created
    isOverflow = labels == .overflow
    state = Mutex(State(row: row))
  }

  /// `nil` from the expiry or the removal of the series on: who has kept it looks it up again.
  var row: Row? { state.withLock { $0.row } }

  func end() { state.withLock { $0.row = nil } }

  /// The row of a series that is asked for, and therefore not idle.
  func touch() -> Row? {
    state.withLock { state in
      state.idleSince = .never
      return state.row
    }
  }

  /// For how long nothing has been recorded, where each record changes `activity`.
  func idleNanoseconds(at now: Instant, activity: UInt64) -> Int64 {
    state.withLock { state in
      guard state.idleSince != .never, activity == state.activity else {
        (state.activity, state.idleSince) = (activity, now)
        return 0
      }
      return now.nanoseconds - state.idleSince.nanoseconds
    }
  }

  /// An expired series, as long as the app keeps its instrument: it returns when something is recorded.
  struct Parked: Sendable {
    private(set) weak var row: Row?
    let created: Timestamp
    let activity: UInt64
    /// Moves what has been recorded since the expiry from that row to another.
    let moveRecords: @Sendable (_ row: Row, _ other: Row) -> Void
  }
}
