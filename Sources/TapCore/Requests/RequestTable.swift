import Synchronization

/// A table of request metrics. Guarded by the lock of its owner.
struct RequestTable<Key: RequestLabelSet> {
  private let columns: [RequestColumn]
  private var series: SeriesTable<Key, RequestRow>
  /// What was found last. Most requests have the same target: to compare costs a tenth of a look-up.
  private var latest: Latest?

  /// A class, whose constants are compared without a copy.
  private final class Latest: Sendable {
    let key: Key
    let row: RequestRow

    init(_ key: Key, _ row: RequestRow) { (self.key, self.row) = (key, row) }
  }

  init(_ columns: [RequestColumn], _ configuration: SeriesConfiguration) {
    self.columns = columns
    let cells = columns.map(\.initialCell)
    series = SeriesTable(columns.map(\.column), configuration) { RequestRow(cells) }
  }

  var isEmpty: Bool { series.isEmpty }

  mutating func find(_ key: Key) -> (row: RequestRow, isOverflow: Bool) {
    if let latest, latest.key == key { return (latest.row, false) }
    let id = series.find(key, labels: \.rendered)
    guard let row = series[id] else { return find(key) }
    let isOverflow = series.isOverflow(id)
    if isOverflow {
      row.state.withLock { $0.isOverflow = true }
    } else {
      latest = Latest(key, row)
    }
    return (row, isOverflow)
  }

  /// Counts a request that begins. Its row does not expire before its end.
  func begin(in row: RequestRow) {
    row.state.withLock { row in
      row.openCount += 1
      for index in columns.indices where columns[index].atBegin > 0 {
        row.add(columns[index].atBegin, to: index)
      }
    }
  }

  func hasValue(of request: borrowing RequestObservation) -> Bool {
    for index in columns.indices where columns[index].atEnd(request) != nil { return true }
    return false
  }

  /// Records all values of an ended request: the end of it, where its begin was counted in the row.
  func record(
    _ request: borrowing RequestObservation, in row: RequestRow, endsRequest: Bool = false,
    exemplars: ExemplarPolicy? = nil
  ) {
    let trace = exemplars.flatMap { $0.trace(of: request.request) }
    let end = request.endTime
    row.state.withLock { row in
      if endsRequest { row.openCount -= 1 }
      row.recordCount &+= 1
      for index in columns.indices {
        guard let value = columns[index].atEnd(request) else { continue }
        if value < 0, !columns[index].isGauge {
          columns[index].column.dropped.increment()
        } else if let histogram = row.histogram(index, columns[index]) {
          if let trace { histogram.record(value, in: trace, at: end) } else { histogram.record(value) }
        } else {
          row.add(value, to: index)
        }
      }
    }
  }

  /// Records a value in the one column, a histogram.
  func record(_ value: Double, in row: RequestRow) {
    row.state.withLock { row in
      row.recordCount &+= 1
      row.histogram(0, columns[0])?.record(value)
    }
  }

  /// `true` if a series has expired.
  @discardableResult
  mutating func expire(at now: Instant) -> Bool {
    let hasExpired = series.expire(at: now)
    if hasExpired { latest = nil }
    return hasExpired
  }

  mutating func gather(at now: Instant) -> [GatheredFamily] { series.gather(at: now) }

  func forgetRelated() { for row in series.rows { row.forgetRelated() } }
}

extension ExemplarPolicy {
  /// The trace that an exemplar refers to.
  fileprivate func trace(of request: borrowing RequestDescription) -> TraceContext? {
    guard let trace = request.traceContext, self == .all || trace.isSampled else { return nil }
    return trace
  }
}
