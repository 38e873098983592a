import Synchronization

/// What is counted and measured of the requests that share labels: a cell for each column of their table.
package final class RequestRow: Sendable {
  enum Cell: Sendable {
    /// Nothing is known yet. Unknown is not 0.
    case empty
    case number(Double)
    case histogram(Registry.Histogram)
  }

  struct State: Sendable {
    private(set) var cells: [Cell]
    var recordCount: UInt64 = 0
    /// The requests that have begun and not ended: they keep the row.
    var openCount = 0
    /// Whether this is the overflow row, from which nothing can be found.
    var isShared = false
    /// The rows that were found from this one, so that the next request needs no look-up and builds no labels.
    fileprivate var ends = FoundSeries<RequestLabels.Outcome>()
    fileprivate var relatives = FoundSeries<Relative>()

    fileprivate init(_ cells: [Cell]) { self.cells = cells }

    mutating func add(_ amount: Double, to index: Int) {
      if case .number(let sum) = cells[index] {
        cells[index] = .number(sum + amount)
      } else {
        cells[index] = .number(amount)
      }
    }

    /// The histogram of a column, made on first use. `nil` if the column is none.
    mutating func histogram(_ index: Int, _ column: RequestColumn) -> Registry.Histogram? {
      if case .histogram(let histogram) = cells[index] { return histogram }
      guard let layout = column.layout else { return nil }
      let histogram = Registry.Histogram(layout: layout, dropped: column.column.dropped)
      cells[index] = .histogram(histogram)
      return histogram
    }
  }

  let state: Mutex<State>

  init(_ cells: [Cell]) { state = Mutex(State(cells)) }
}

extension RequestRow: SeriesRow {
  var activity: UInt64? { state.withLock { $0.openCount == 0 ? $0.recordCount : nil } }

  func content(of column: Int) -> GatheredFamily.Content? {
    switch state.withLock({ $0.cells[column] }) {
    case .empty: nil
    case .number(let value): .number(value)
    case .histogram(let histogram): .instrument(histogram)
    }
  }

  /// No request records in an expired row.
  var mark: Void { () }

  func move(after mark: Void, to other: RequestRow) {}
}

// MARK: - From one row to another

typealias FoundRow = (series: Series<RequestRow>, row: RequestRow)

extension RequestRow {
  enum Relative: Sendable {
    case client
    case server
    case phase(RequestTimings.Phase)
  }

  /// The rows of a target's ended requests that were found before.
  func end(_ outcome: RequestLabels.Outcome) -> RequestRow? { state.withLock { $0.ends.row(for: outcome) } }

  func relative(_ key: Relative) -> RequestRow? { state.withLock { $0.relatives.row(for: key) } }

  func remember(_ found: FoundRow, as outcome: RequestLabels.Outcome) -> RequestRow {
    state.withLock { if !$0.isShared { $0.ends.add(found.series, for: outcome) } }
    return found.row
  }

  func remember(_ found: FoundRow, as relative: Relative) -> RequestRow {
    state.withLock { if !$0.isShared { $0.relatives.add(found.series, for: relative) } }
    return found.row
  }
}

extension RequestRow.Relative: Equatable {}

private struct FoundSeries<Key: Equatable & Sendable>: Sendable {
  /// More than a row has phases.
  private static var limit: Int { 16 }

  private var entries: [(key: Key, series: Series<RequestRow>)] = []

  /// `nil` where the series was not found before, or has expired.
  func row(for key: Key) -> RequestRow? {
    for index in entries.indices where entries[index].key == key { return entries[index].series.row }
    return nil
  }

  /// What shares the overflow series is not remembered: another time there may be room.
  mutating func add(_ series: Series<RequestRow>, for key: Key) {
    guard !series.isOverflow else { return }
    entries.removeAll { $0.series.row == nil }
    if entries.count == Self.limit { entries.removeFirst() }
    entries.append((key, series))
  }
}
