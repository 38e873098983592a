/// One series, or as many as its table has columns. What changes is guarded by the lock of the table's owner.
final class Series<Row: AnyObject & Sendable>: @unchecked Sendable {
  let labels: RenderedLabels
  let isOverflow: Bool
  let created: Timestamp
  /// `nil` from its expiry or removal on: who has kept the series looks it up again.
  var row: Row?
  private var activity: UInt64 = 0
  /// Since when nothing has been recorded. `nil` if that is unknown.
  private var idleSince: Instant?

  init(labels: RenderedLabels, row: Row, created: Timestamp) {
    self.labels = labels
    self.row = row
    self.created = created
    isOverflow = labels == .overflow
  }

  func touch() { idleSince = nil }

  /// For how long nothing has been recorded, where each record changes `activity`.
  func idleNanoseconds(at now: Instant, activity: UInt64) -> Int64 {
    guard let idleSince, activity == self.activity else {
      (self.activity, idleSince) = (activity, now)
      return 0
    }
    return now.nanoseconds - idleSince.nanoseconds
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
