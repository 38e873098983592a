/// The series of ended requests, found by what was observed.
struct RequestSeriesTable<Key: RequestSeriesKey>: Sendable {
  private var table: SeriesTable<Never, RequestSeries>
  private let limit: Int
  private var index = HashIndex()
  private var entries: [Entry] = []
  /// The table's, when the index was right.
  private var generation = 0

  init(_ options: SeriesOptions) {
    table = SeriesTable(options)
    limit = options.limit
  }

  /// The series of a request, if its labels have been seen before.
  @inline(__always)
  func series(for request: Key.Request, target: Key.Target, hash: UInt64) -> RequestSeries? {
    guard let number = index.first(hash, where: { entries[$0].key.matches(request, target: target) })
    else { return nil }
    entries[number].series.idleMark?.touch()
    return entries[number].series.element
  }

  /// The overflow series, if there is no room and every series is in the index: then what was not found there is
  /// new, and a flood of new targets costs no more than known ones.
  mutating func overflowIfFull(make: () -> RequestSeries) -> RequestSeries? {
    guard generation == table.generation, entries.count >= limit else { return nil }
    return table.overflowIfFull(make: make)?.element
  }

  /// The series of a key: the one there is, a new one, or the overflow series where there is no room.
  mutating func series(
    for key: Key, hash: UInt64, labels: RenderedLabels, created: Timestamp,
    make: () -> RequestSeries
  ) -> RequestSeries {
    forgetRemoved()
    let series = table.series(labels: labels, created: created, make: make)
    if series.labels == labels {
      index.insert(entries.count, hash: hash)
      entries.append(Entry(key: key, series: series))
    }
    return series.element
  }

  /// All series, by label values, without those that have been idle for too long.
  mutating func sorted(at now: ContinuousClock.Instant) -> [Series<RequestSeries>] {
    table.expire(at: now, activity: \.activity)
    forgetRemoved()
    return table.sorted()
  }

  /// How many times a label set found no room.
  var overflowCount: UInt64 { table.overflowCount }

  private mutating func forgetRemoved() {
    guard generation != table.generation else { return }
    generation = table.generation
    index.removeAll()
    entries = []
  }

  private struct Entry: Sendable {
    let key: Key
    let series: Series<RequestSeries>
  }
}
