/// The series of one kind of labels: a row of values for each label set.
struct RequestTable<Key: Hashable & Sendable> {
  private let columns: [RequestColumn]
  var series: SeriesTable<Key, RequestRow>

  /// - Parameter leadCount: How many series of other tables each one leads to.
  init(_ columns: [RequestColumn], _ configuration: SeriesConfiguration, leadCount: Int = 0) {
    self.columns = columns
    let row = RequestRow(columns, leadCount: leadCount)
    series = SeriesTable(columns.map(\.column), configuration) { row }
  }

  /// Counts a request that begins. Its series does not expire before its end.
  ///
  /// - Returns: The series that this one leads to, by index.
  @discardableResult
  mutating func begin(in id: SeriesID) -> [SeriesID?] {
    var leads: [SeriesID?] = []
    series.update(id) { row in
      row.openCount += 1
      for index in columns.indices where columns[index].atBegin > 0 {
        row.add(columns[index].atBegin, to: index, columns[index])
      }
      leads = row.leads
    }
    return leads
  }

  /// Records all values of an ended request. `endsRequest` says that its begin was counted in this series.
  ///
  /// - Returns: The series that this one leads to, by index.
  @discardableResult
  mutating func record(
    _ request: borrowing RequestObservation, in id: SeriesID, endsRequest: Bool = false,
    _ trace: TraceContext? = nil
  ) -> [SeriesID?] {
    var leads: [SeriesID?] = []
    series.update(id) { row in
      if endsRequest { row.openCount -= 1 }
      row.recordCount &+= 1
      for index in columns.indices {
        guard let value = columns[index].atEnd?.value(of: request) else { continue }
        if row.add(value, to: index, columns[index]), let trace {
          row.keep(Exemplar(value: value, timestamp: request.endTime, trace: trace), in: index)
        }
      }
      leads = row.leads
    }
    return leads
  }

  /// The values of the first column; `nil` once the series is gone.
  func durations(of id: SeriesID) -> RequestHistory.Values? {
    guard let labels = series.labels(of: id), let row = series[id] else { return nil }
    guard case .histogram(let histogram) = row.content(of: 0) else {
      return RequestHistory.Values(labels: labels, sum: 0, counts: [])
    }
    return RequestHistory.Values(labels: labels, sum: histogram.sum, counts: histogram.counts)
  }

  mutating func clearAges() {
    guard let index = columns.firstIndex(where: \.isAge) else { return }
    series.updateAll { $0.set(0, index) }
  }

  mutating func raiseAge(to age: Double, in id: SeriesID) {
    guard let index = columns.firstIndex(where: \.isAge) else { return }
    series.update(id) { $0.set(max($0.number(index), age), index) }
  }

  /// Records a value in one column.
  mutating func record(_ value: Double, in id: SeriesID, column: Int = 0) {
    series.update(id) { row in
      row.recordCount &+= 1
      row.add(value, to: column, columns[column])
    }
  }

  /// Remembers that a series leads to one of another table, until that one expires. Overflow series are not
  /// remembered: later there may be room.
  mutating func lead(from id: SeriesID, _ index: Int, to other: SeriesID, isOverflow: Bool) {
    if !isOverflow, !series.isOverflow(id) { series.update(id) { $0.leads[index] = other } }
  }

  func hasValue(of request: borrowing RequestObservation) -> Bool {
    for index in columns.indices where columns[index].atEnd?.value(of: request) != nil { return true }
    return false
  }
}

/// The values of requests that share labels: a cell for each column of their table.
struct RequestRow: SeriesRow {
  /// Both are absent while nothing is known, since unknown is not 0; but a count begins at 0.
  private struct Cell {
    var number: Double?
    var histogram: ValueHistogram?
  }

  /// The active requests, which keep the row from expiring.
  var openCount = 0
  var recordCount: UInt64 = 0
  /// The series of other tables that this one leads to, once they are known.
  var leads: [SeriesID?]
  private var cells: [Cell]

  init(_ columns: [RequestColumn], leadCount: Int) {
    leads = Array(repeating: nil, count: leadCount)
    cells = columns.map { Cell(number: $0.initialNumber) }
  }

  static func isHeld(_ row: inout RequestRow) -> Bool { row.openCount > 0 }

  var activity: UInt64 { recordCount }

  func content(of column: Int) -> GatheredFamily.Content? {
    cells[column].histogram.map { .histogram($0) } ?? cells[column].number.map { .number($0) }
  }

  /// - Returns: Whether the value counts.
  @discardableResult
  mutating func add(_ value: Double, to index: Int, _ column: RequestColumn) -> Bool {
    if value < 0, !column.isGauge {
      column.column.dropped.increment()
      return false
    }
    if column.isHistogram {
      if cells[index].histogram == nil { cells[index].histogram = column.layout.map { ValueHistogram($0) } }
      cells[index].histogram?.record(value)
    } else {
      cells[index].number = (cells[index].number ?? 0) + value
    }
    return true
  }

  func number(_ index: Int) -> Double { cells[index].number ?? 0 }

  mutating func set(_ number: Double, _ index: Int) { cells[index].number = number }

  mutating func keep(_ exemplar: Exemplar, in index: Int) { cells[index].histogram?.keep(exemplar) }
}
