/// The series of metrics that share their labels: rows of instruments, one for each column, found by key, found by labels,
/// listed in order, bounded in number. A pure value, kept under a lock by its owner.
struct SeriesTable<Key: Hashable & Sendable, Row: AnyObject & Sendable>: Sendable {
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
  private var parked: [RenderedLabels: Series<Row>.Parked] = [:]
  /// How many times a label set found no room.
  private var overflowCount: UInt64 = 0

  init(_ columns: [SeriesColumn], _ configuration: SeriesConfiguration, make: @escaping @Sendable () -> Row) {
    self.columns = columns
    self.configuration = configuration
    self.make = make
  }

  var isEmpty: Bool { listed.isEmpty }

  /// A series, and the row that it has: an expired one has none.
  typealias Found = (series: Series<Row>, row: Row)

  /// The series of a key seen before.
  func find(_ key: Key) -> Found? {
    guard let series = byKey[key], let row = series.touch() else { return nil }
    return (series, row)
  }

  /// The series of a label set: the one there is, a new one with that row, or the overflow series where there is no room.
  mutating func find(_ key: Key, labels: RenderedLabels, new: Row? = nil) -> Found {
    if let series = byLabels[labels], let row = series.touch() {
      remember(series, for: key)
      return (series, row)
    }
    guard byLabels.count < configuration.limit else { return findOverflow() }
    let former = parked.removeValue(forKey: labels)
    let row = former?.row
    let created = row == nil ? Timestamp.now : former?.created ?? .now
    let found = insert(row ?? new ?? make(), labels: labels, created: created)
    byLabels[labels] = found.series
    remember(found.series, for: key)
    return found
  }

  /// The series of a key, where each key has labels of its own and none is too long to be one: a flood of new keys then
  /// costs no more than known ones.
  mutating func find(_ key: Key, labels: (Key) -> RenderedLabels) -> Found {
    if let found = find(key) { return found }
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
    let isOverflow = overflow?.labels == labels
    if isOverflow { overflow = nil }
    guard byLabels.removeValue(forKey: labels) != nil || isOverflow else { return false }
    forget { $0.labels == labels }
    return true
  }

  private mutating func forget(_ isForgotten: (Series<Row>) -> Bool) {
    byKey = byKey.filter { !isForgotten($0.value) }
    for series in listed where isForgotten(series) { series.end() }
    listed.removeAll(where: isForgotten)
  }

  private mutating func insert(_ row: Row, labels: RenderedLabels, created: Timestamp = .now) -> Found {
    let series = Series(labels: labels, row: row, created: created)
    listed.append(series)
    isSorted = false
    return (series, row)
  }

  /// Keys whose values were cut are not kept: nothing bounds their size.
  private mutating func remember(_ series: Series<Row>, for key: Key) {
    if !series.labels.isCut, byKey.count < configuration.limit { byKey[key] = series }
  }

  private mutating func findOverflow() -> Found {
    overflowCount &+= 1
    if let overflow, let row = overflow.row { return (overflow, row) }
    let found = insert(make(), labels: .overflow)
    overflow = found.series
    return found
  }
}

extension SeriesTable where Row: SeriesRow {
  /// All columns as they are now, each with its series by label values.
  mutating func gather(at now: Instant) -> [GatheredFamily] {
    if configuration.idleExpiry != nil { expire(at: now) }
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
        guard let content = series.row?.content(of: index) else { continue }
        gathered.append((series.labels, series.created, content))
      }
      return GatheredFamily(
        column.descriptor, overflowCount: overflowCount, droppedCount: column.dropped.count, series: gathered)
    }
  }

  /// Parks the series that have been idle for too long, and takes back those that are no longer idle.
  private mutating func expire(at now: Instant) {
    // At least so long that what has just been recorded is not idle.
    guard let expiry = configuration.idleExpiry.map({ max($0.nanoseconds, 1) }) else { return }
    for (labels, former) in parked {
      guard let row = former.row else {
        parked[labels] = nil
        continue
      }
      guard row.activity != former.activity else { continue }
      if byLabels.count < configuration.limit {
        byLabels[labels] = insert(row, labels: labels, created: former.created).series
        parked[labels] = nil
      } else {
        former.moveRecords(row, findOverflow().row)
      }
    }
    var expired: Set<RenderedLabels> = []
    for (labels, series) in byLabels {
      guard let row = series.row, let activity = row.activity,
        series.idleNanoseconds(at: now, activity: activity) >= expiry
      else {
        continue
      }
      parked[labels] = Series.Parked(row: row, created: series.created, activity: activity) {
        [mark = row.mark] in $0.move(after: mark, to: $1)
      }
      expired.insert(labels)
    }
    guard !expired.isEmpty else { return }
    for labels in expired { byLabels[labels] = nil }
    forget { expired.contains($0.labels) }
  }
}
