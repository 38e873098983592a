/// A table of request metrics. Guarded by the lock of its owner.
struct RequestTable<Key: RequestLabelSet, Event>: Sendable {
  private let columns: [RequestColumn<Event>]
  private var series: SeriesTable<Key, RequestRow>

  init(_ columns: [RequestColumn<Event>], _ options: SeriesOptions) {
    self.columns = columns
    let cells = columns.map(\.initialCell)
    series = SeriesTable(columns.map(\.column), options) { RequestRow(cells) }
  }

  var isEmpty: Bool { series.isEmpty }

  var descriptors: [FamilyDescriptor] { columns.map(\.column.descriptor) }

  mutating func find(_ key: Key) -> FoundRow {
    let found = series.find(key, labels: \.rendered)
    found.row.isShared = found.series.isOverflow
    return found
  }

  /// Counts a request that begins. Its row does not expire before its end.
  func begin(in row: RequestRow) {
    row.openCount += 1
    for index in columns.indices where columns[index].atBegin > 0 {
      row.add(columns[index].atBegin, to: index)
    }
  }

  /// Counts the end of a request that has begun in the row.
  func end(_ event: Event, in row: RequestRow) {
    row.openCount -= 1
    record(event, in: row)
  }

  func hasValue(of event: Event) -> Bool { columns.contains { $0.value(event) != nil } }

  /// Records the values that an event has. A value below 0 is dropped and counted.
  func record(
    _ event: Event, in row: RequestRow, trace: TraceContext? = nil,
    at time: @autoclosure () -> Timestamp = .now, exemplars: ExemplarPolicy = .sampled
  ) {
    row.recordCount &+= 1
    for index in columns.indices {
      guard let value = columns[index].value(event) else { continue }
      switch columns[index].kind {
      case .gauge: row.add(value, to: index)
      case _ where value < 0: columns[index].column.dropped.increment()
      case .counter: row.add(value, to: index)
      case .histogram(let layout):
        row.histogram(index, layout, columns[index].column.dropped)
          .record(value, trace: trace, at: time(), exemplars: exemplars)
      }
    }
  }

  mutating func gather(at now: Instant) -> [GatheredFamily] { series.gather(at: now) }
}

/// A metric of requests: its name, its help, its kind, and what an event records in it.
struct RequestColumn<Event>: Sendable {
  fileprivate enum Kind: Sendable {
    case histogram(BucketLayout)
    case counter
    case gauge
  }

  fileprivate let column: SeriesColumn
  fileprivate let kind: Kind
  /// What the begin of a request adds.
  fileprivate let atBegin: Double
  fileprivate let value: @Sendable (Event) -> Double?
  fileprivate let initialCell: RequestRow.Cell

  /// Counts the values of events in buckets. `nil` is unknown: a series without a value is not exposed.
  static func histogram(
    _ name: String, _ help: String, _ buckets: HistogramBuckets,
    _ value: @escaping @Sendable (Event) -> Double?
  ) throws(RegistryError) -> RequestColumn {
    guard buckets.isValid else { throw RegistryError(.invalidBuckets, metric: name) }
    return try RequestColumn(
      name, help, .histogram(BucketLayout(buckets)), unit: name.hasSuffix("_bytes") ? "bytes" : "seconds",
      value)
  }

  /// Adds what events have. A series without a value is not exposed.
  static func counter(
    _ name: String, _ help: String, _ value: @escaping @Sendable (Event) -> Double?
  ) throws(RegistryError) -> RequestColumn {
    try RequestColumn(name, help, .counter, value)
  }

  /// Counts begins, and ends for which `atEnd` gives a number, from 0 on.
  static func count(
    _ name: String, _ help: String, atBegin: Double = 0,
    atEnd value: @escaping @Sendable (Event) -> Double? = { _ in nil }
  ) throws(RegistryError) -> RequestColumn {
    let kind: Kind = name.hasSuffix("_total") ? .counter : .gauge
    return try RequestColumn(name, help, kind, atBegin: atBegin, initialCell: .number(0), value)
  }

  private init(
    _ name: String, _ help: String, _ kind: Kind, unit: String? = nil, atBegin: Double = 0,
    initialCell: RequestRow.Cell = .empty, _ value: @escaping @Sendable (Event) -> Double?
  ) throws(RegistryError) {
    let type: MetricType =
      switch kind {
      case .histogram: .histogram
      case .counter: .counter
      case .gauge: .gauge
      }
    column = SeriesColumn(descriptor: try FamilyDescriptor(name: name, help: help, type: type, unit: unit))
    (self.kind, self.atBegin, self.value, self.initialCell) = (kind, atBegin, value, initialCell)
  }
}

/// What is counted and measured of the requests that share labels: a cell for each column. Guarded by the lock of the tables' owner.
package final class RequestRow: @unchecked Sendable {
  fileprivate enum Cell: Sendable {
    /// Nothing is known yet. Unknown is not 0.
    case empty
    case number(Double)
    case histogram(Registry.Histogram)
  }

  private var cells: [Cell]
  fileprivate var recordCount: UInt64 = 0
  /// The requests that have begun and not ended: they keep the row.
  fileprivate var openCount = 0
  /// Whether this is the overflow row, from which nothing can be found.
  fileprivate var isShared = false
  /// The series that were found from this one, so that the next request needs no look-up and builds no labels.
  private var found: [(key: RequestRowKey, series: Series<RequestRow>)] = []

  fileprivate init(_ cells: [Cell]) { self.cells = cells }

  fileprivate func add(_ amount: Double, to index: Int) {
    if case .number(let sum) = cells[index] {
      cells[index] = .number(sum + amount)
    } else {
      cells[index] = .number(amount)
    }
  }

  fileprivate func histogram(
    _ index: Int, _ layout: BucketLayout, _ dropped: DroppedValues
  ) -> Registry.Histogram {
    if case .histogram(let histogram) = cells[index] { return histogram }
    let histogram = Registry.Histogram(layout: layout, dropped: dropped)
    cells[index] = .histogram(histogram)
    return histogram
  }
}

extension RequestRow {
  /// More than a row has phases.
  private static let foundLimit = 16

  /// Finds a row from this one, or in its table.
  func find(_ key: RequestRowKey, in table: () -> FoundRow) -> RequestRow {
    for index in found.indices where found[index].key == key {
      // Else it has expired.
      if let row = found[index].series.row { return row }
    }
    let (series, row) = table()
    // What shares the overflow series is not remembered: another time there may be room.
    if !isShared, !series.isOverflow {
      found.removeAll { $0.series.row == nil }
      if found.count == Self.foundLimit { found.removeFirst() }
      found.append((key, series))
    }
    return row
  }
}

typealias FoundRow = (series: Series<RequestRow>, row: RequestRow)

/// What leads from a row to another.
enum RequestRowKey: Equatable, Sendable {
  case client
  case server
  case end(RequestLabels.Outcome)
  case phase(RequestTimings.Phase)
}

extension RequestRow: SeriesRow {
  var activity: UInt64? { openCount == 0 ? recordCount : nil }

  func content(of column: Int) -> GatheredFamily.Content? {
    switch cells[column] {
    case .empty: nil
    case .number(let value): .number(value)
    case .histogram(let histogram): .instrument(histogram)
    }
  }

  /// No request records in an expired row.
  var mark: Void { () }

  func move(after mark: Void, to other: RequestRow) {}
}
