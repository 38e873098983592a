/// The series of metrics that share their labels: rows of instruments, one for each column, found by key, found by labels,
/// listed in order, bounded in number. Kept under a lock by its owner.
struct SeriesTable<Key: Hashable & Sendable, Row: AnyObject & Sendable> {
  private let columns: [SeriesColumn]
  private let configuration: SeriesConfiguration
  private let make: @Sendable () -> Row
  /// The keys seen: a cache of `byLabels`. Many keys may lead to one series, so it has its own bound.
  private var byKey: [Key: Series<Row>] = [:]
  private var byLabels: [RenderedLabels: Series<Row>] = [:]
  /// Those of `byLabels` and the overflow series. In order, but for those that were added since they were last asked for.
  private var listed: [Series<Row>] = []
  private var isSorted = true
  private var overflow: Series<Row>?
  private var parked: [RenderedLabels: ParkedSeries<Row>] = [:]
  private var overflowCount: UInt64 = 0

  init(_ columns: [SeriesColumn], _ configuration: SeriesConfiguration, make: @escaping @Sendable () -> Row) {
    self.columns = columns
    self.configuration = configuration
    self.make = make
  }

  var isEmpty: Bool { listed.isEmpty }

  var rows: some Sequence<Row> { listed.lazy.map(\.row) }

  /// The series of a key seen before.
  func find(_ key: Key) -> Series<Row>? {
    guard let series = byKey[key] else { return nil }
    series.idleSince = .never
    return series
  }

  /// The series of a label set: the one there is, a new one with that row, or the overflow series where there is no room.
  mutating func find(_ key: Key, labels: RenderedLabels, new: Row? = nil) -> Series<Row> {
    if let series = byLabels[labels] {
      series.idleSince = .never
      remember(series, for: key)
      return series
    }
    guard byLabels.count < configuration.limit else { return findOverflow() }
    let former = parked.removeValue(forKey: labels)
    let series =
      if let former, let row = former.row {
        Series(labels: labels, row: row, created: former.created)
      } else {
        Series(labels: labels, row: new ?? make())
      }
    insert(series)
    remember(series, for: key)
    return series
  }

  /// The series of a key, where each key has labels of its own and none is too long to be one: a flood of new keys then
  /// costs no more than known ones.
  mutating func find(_ key: Key, labels: (Key) -> RenderedLabels) -> Series<Row> {
    if let series = find(key) { return series }
    guard byLabels.count < configuration.limit else { return findOverflow() }
    return find(key, labels: labels(key))
  }

  /// Forgets the series of a label set, or all. An instrument of it that the app keeps records unseen.
  mutating func remove(_ labels: RenderedLabels?) -> Bool {
    guard let labels else {
      let count = overflowCount
      self = SeriesTable(columns, configuration, make: make)
      overflowCount = count
      return true
    }
    parked[labels] = nil
    guard listed.contains(where: { $0.labels == labels }) else { return false }
    forget([labels])
    return true
  }

  private mutating func forget(_ labels: Set<RenderedLabels>) {
    for labels in labels { byLabels[labels] = nil }
    byKey = byKey.filter { !labels.contains($0.value.labels) }
    listed.removeAll { labels.contains($0.labels) }
    if labels.contains(.overflow) { overflow = nil }
  }

  private mutating func insert(_ series: Series<Row>) {
    byLabels[series.labels] = series
    listed.append(series)
    isSorted = false
  }

  /// Keys whose values were cut are not kept: nothing bounds their size.
  private mutating func remember(_ series: Series<Row>, for key: Key) {
    if !series.labels.isCut, byKey.count < configuration.limit { byKey[key] = series }
  }

  private mutating func findOverflow() -> Series<Row> {
    overflowCount &+= 1
    if let overflow { return overflow }
    let series = Series(labels: .overflow, row: make())
    overflow = series
    listed.append(series)
    isSorted = false
    return series
  }
}

extension SeriesTable where Row: SeriesRow {
  /// All columns as they are now, each with its series by label values.
  mutating func gather(at now: Instant) -> [GatheredFamily] {
    // Nearly all are in order already, which the sort of the standard library takes as a run.
    if !isSorted { listed.sort { $0.labels < $1.labels } }
    isSorted = true
    // Labels that are named at run time most often make a single series, for which a 0 would say nothing.
    let overflowCount = Key.self == Labels.self && overflowCount == 0 ? nil : overflowCount
    return columns.enumerated().map { index, column in
      // A `compactMap`, which nothing specializes for the app's own type of key, takes three times as long.
      var gathered: [GatheredFamily.Series] = []
      gathered.reserveCapacity(listed.count)
      for series in listed {
        guard let content = series.row.content(of: index) else { continue }
        gathered.append((series.labels, series.created, content))
      }
      return GatheredFamily(
        column.descriptor, overflowCount: overflowCount, droppedCount: column.dropped.count, series: gathered)
    }
  }

  /// Takes back the expired series that are no longer idle, and parks those that have been idle for too long. `true` if there were
  /// any.
  @discardableResult
  mutating func expire(at now: Instant) -> Bool {
    // At least so long that what has just been recorded is not idle.
    guard let expiry = configuration.idleExpiry.map({ max($0.nanoseconds, 1) }) else { return false }
    for (labels, former) in parked {
      guard let row = former.row else {
        parked[labels] = nil
        continue
      }
      guard row.activity != former.activity else { continue }
      if byLabels.count < configuration.limit {
        insert(Series(labels: labels, row: row, created: former.created))
        parked[labels] = nil
      } else {
        former.moveRecords(row, findOverflow().row)
      }
    }
    var expired: Set<RenderedLabels> = []
    for (labels, series) in byLabels {
      guard let activity = series.row.activity,
        series.idleNanoseconds(at: now, activity: activity) >= expiry
      else { continue }
      expired.insert(labels)
      guard let moveRecords = series.row.moveFromNow else { continue }
      parked[labels] = ParkedSeries(
        row: series.row, created: series.created, activity: activity, moveRecords: moveRecords)
    }
    if !expired.isEmpty { forget(expired) }
    return !expired.isEmpty
  }
}

/// One metric of a table.
struct SeriesColumn: Sendable {
  let descriptor: FamilyDescriptor
  let dropped = DroppedValues()
}

/// What a table keeps under one label set: an instrument for each column.
protocol SeriesRow: AnyObject, Sendable {
  /// A number that changes with every record. `nil` for a row that is in use and does not expire.
  var activity: UInt64? { get }
  /// What a column shows, or `nil` where nothing has been recorded in it.
  func content(of column: Int) -> GatheredFamily.Content?
  /// What moves all that is recorded from now on to another row. `nil` for a row in which nothing can be recorded once it has expired.
  var moveFromNow: (@Sendable (_ row: Self, _ other: Self) -> Void)? { get }
}

/// One series, or as many as its table has columns. A table alone refers to it, so the lock of the table guards it.
final class Series<Row: AnyObject & Sendable> {
  let labels: RenderedLabels
  let row: Row
  let created: Timestamp
  private var activity: UInt64 = 0
  /// Since when nothing has been recorded, `never` if that is unknown: an optional would take another 16 bytes of each series.
  fileprivate(set) var idleSince = Instant.never

  fileprivate init(labels: RenderedLabels, row: Row, created: Timestamp = .now) {
    self.labels = labels
    self.row = row
    self.created = created
  }

  var isOverflow: Bool { labels == .overflow }

  /// For how long nothing has been recorded, where each record changes `activity`.
  fileprivate func idleNanoseconds(at now: Instant, activity: UInt64) -> Int64 {
    guard idleSince != .never, activity == self.activity else {
      (self.activity, idleSince) = (activity, now)
      return 0
    }
    return now.nanoseconds - idleSince.nanoseconds
  }
}

/// An expired series, as long as the app keeps its instrument: it returns when something is recorded.
private struct ParkedSeries<Row: AnyObject & Sendable> {
  private(set) weak var row: Row?
  let created: Timestamp
  let activity: UInt64
  let moveRecords: @Sendable (_ row: Row, _ other: Row) -> Void
}
