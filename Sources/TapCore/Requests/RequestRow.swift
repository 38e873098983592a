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
    /// Whether this is the row of all that found no room.
    var isOverflow = false
    fileprivate var found: [(relation: Relation, row: RequestRow)] = []

    fileprivate init(_ cells: [Cell]) { self.cells = cells }

    fileprivate func row(for relation: Relation) -> RequestRow? {
      // Not `first`, which copies each element.
      for index in found.indices where found[index].relation == relation { return found[index].row }
      return nil
    }

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
  static func isHeld(_ row: inout RequestRow) -> Bool { row.state.withLock { $0.openCount > 0 } }

  var activity: UInt64 { state.withLock { $0.recordCount } }

  func content(of column: Int) -> GatheredFamily.Content? {
    switch state.withLock({ $0.cells[column] }) {
    case .empty: nil
    case .number(let value): .number(value)
    case .histogram(let histogram): .histogram(histogram)
    }
  }
}

// MARK: - From one row to another

extension RequestRow {
  /// How a row is found from that of a target, or of ended requests.
  enum Relation: Equatable, Sendable {
    case client
    case server
    case end(RequestLabels.Outcome)
    case phase(RequestTimings.Phase)
  }

  /// The most rows that a row remembers: more than a request has phases.
  private static let foundLimit = 16

  /// The row that was found before, or is found now, so that the next request needs no look-up and builds no
  /// labels. What is found in or from an overflow row is not remembered: another time there may be room.
  func related(_ relation: Relation, find: () -> (row: RequestRow, isOverflow: Bool)) -> RequestRow {
    if let known = state.withLock({ $0.row(for: relation) }) { return known }
    let (row, isOverflow) = find()
    state.withLock { state in
      if isOverflow || state.isOverflow { return }
      if state.found.count == Self.foundLimit { state.found.removeFirst() }
      state.found.append((relation, row))
    }
    return row
  }

  /// Forgets the rows that were found: one of them has expired.
  func forgetRelated() { state.withLock { $0.found = [] } }
}
