import Synchronization

/// A table of request metrics. Guarded by the lock of its owner.
struct RequestTable<Key: RequestLabelSet>: Sendable {
  private let columns: [RequestColumn]
  private var series: SeriesTable<Key, RequestRow>

  init(_ columns: [RequestColumn], _ configuration: SeriesConfiguration) {
    self.columns = columns
    let cells = columns.map(\.initialCell)
    series = SeriesTable(columns.map(\.column), configuration) { RequestRow(cells) }
  }

  var isEmpty: Bool { series.isEmpty }

  var descriptors: [FamilyDescriptor] { columns.map(\.column.descriptor) }

  mutating func find(_ key: Key) -> FoundRow {
    let found = series.find(key, labels: \.rendered)
    if found.series.isOverflow { found.row.state.withLock { $0.isShared = true } }
    return found
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

  func hasValue(of request: RequestObservation) -> Bool { columns.contains { $0.atEnd(request) != nil } }

  /// Records all values of an ended request: the end of it, where its begin was counted in the row.
  func record(
    _ request: RequestObservation, in row: RequestRow, endsRequest: Bool = false,
    exemplars: ExemplarPolicy? = nil
  ) {
    let trace = exemplars.flatMap { request.request.traceContext(for: $0) }
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

  mutating func gather(at now: Instant) -> [GatheredFamily] { series.gather(at: now) }
}

extension RequestDescription {
  /// The trace that an exemplar refers to.
  fileprivate func traceContext(for exemplars: ExemplarPolicy) -> TraceContext? {
    guard let traceContext, exemplars == .all || traceContext.isSampled else { return nil }
    return traceContext
  }
}
