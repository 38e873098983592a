import Synchronization

/// The series of metrics that share their labels: a row of values for each label set, found by key and by
/// labels, sorted, bounded in number. Kept under a lock by its owner.
struct SeriesTable<Key: Hashable & Sendable, Row: Sendable> {
  private let columns: [SeriesColumn]
  private let configuration: SeriesConfiguration
  private let make: @Sendable () -> Row
  /// By index; `nil` is free.
  private var series: [Series<Row>?] = []
  /// How often each index was freed: an old id finds no series.
  private var generations: [UInt32] = []
  private var free: [UInt32] = []
  /// The keys seen: a cache of `byLabels`. Many keys may lead to one series, so it has its own bound.
  private var byKey: [Key: SeriesID] = [:]
  /// All but the overflow series.
  private var byLabels: [RenderedLabels: SeriesID] = [:]
  private var overflow: SeriesID?
  private var overflowCount: UInt64 = 0
  /// The indices of the series in the order of their labels, without those added since the last scrape.
  private var order: [UInt32] = []
  private var isSorted = true

  init(_ columns: [SeriesColumn], _ configuration: SeriesConfiguration, make: @escaping @Sendable () -> Row) {
    self.columns = columns
    self.configuration = configuration
    self.make = make
  }

  var isEmpty: Bool { order.isEmpty }

  func isOverflow(_ id: SeriesID) -> Bool { id == overflow }

  func contains(_ id: SeriesID) -> Bool { generations[id.index] == id.generation }

  /// The id, unless its series is gone.
  func known(_ id: SeriesID?) -> SeriesID? {
    guard let id, contains(id) else { return nil }
    return id
  }

  /// `nil` once the series is gone.
  subscript(id: SeriesID) -> Row? { contains(id) ? series[id.index]?.row : nil }

  /// `nil` once the series is gone.
  func labels(of id: SeriesID) -> RenderedLabels? { contains(id) ? series[id.index]?.labels : nil }

  /// The series of a key seen before.
  mutating func find(_ key: Key) -> SeriesID? {
    guard let id = byKey[key] else { return nil }
    series[id.index]?.idleSince = .never
    return id
  }

  /// The series of a label set: the existing one, a new one with that row, or the overflow series if the
  /// table is full.
  mutating func find(_ key: Key, labels: RenderedLabels, new: Row? = nil) -> SeriesID {
    if let id = byLabels[labels] {
      series[id.index]?.idleSince = .never
      remember(id, labels, for: key)
      return id
    }
    guard byLabels.count < configuration.limit else { return findOverflow() }
    let id = insert(labels, new ?? make())
    byLabels[labels] = id
    remember(id, labels, for: key)
    return id
  }

  /// The series of a key, if each key has labels of its own and none is too long: a flood of new keys then
  /// costs no more than known ones.
  ///
  /// - Parameter isOverflow: Whether it is the overflow series in any case.
  mutating func find(
    _ key: Key, isOverflow: Bool = false, labels: (Key) -> RenderedLabels
  ) -> SeriesID {
    findWithoutLabels(key, isOverflow: isOverflow) ?? find(key, labels: labels(key))
  }

  /// The series of a key without its labels: a known one, or the overflow series if the table is full. `nil`
  /// if the labels are needed.
  mutating func findWithoutLabels(_ key: Key, isOverflow: Bool = false) -> SeriesID? {
    if isOverflow { return findOverflow() }
    if let id = find(key) { return id }
    return byLabels.count < configuration.limit ? nil : findOverflow()
  }

  /// Changes the row of a series, unless the series is gone.
  @inline(__always)
  mutating func update(_ id: SeriesID, _ change: (inout Row) -> Void) {
    if contains(id) { series[id.index]?.update(change) }
  }

  mutating func updateAll(_ change: (inout Row) -> Void) {
    for place in order { series[Int(place)]?.update(change) }
  }

  mutating func row(of key: Key) -> Row? {
    guard let id = find(key) else { return nil }
    return self[id]
  }

  mutating func row(of key: Key, labels: RenderedLabels, new: Row? = nil) -> Row? {
    let id = find(key, labels: labels, new: new)
    return self[id]
  }

  /// Forgets the series of a label set. An instrument of it that the app keeps records unseen.
  mutating func remove(_ labels: RenderedLabels) -> Bool {
    guard let id = labels == .overflow ? overflow : byLabels[labels] else { return false }
    forget([id.place])
    return true
  }

  private mutating func forget(_ places: [UInt32]) {
    for place in places {
      if let labels = series[Int(place)]?.labels { byLabels[labels] = nil }
      if overflow?.place == place { overflow = nil }
      series[Int(place)] = nil
      generations[Int(place)] &+= 1
    }
    free += places
    byKey = byKey.filter { generations[$0.value.index] == $0.value.generation }
    order.removeAll { series[Int($0)] == nil }
  }

  private mutating func insert(_ labels: RenderedLabels, _ row: Row) -> SeriesID {
    let place = free.popLast() ?? UInt32(series.count)
    if Int(place) == series.count {
      series.append(nil)
      generations.append(0)
    }
    series[Int(place)] = Series(labels: labels, row: row)
    order.append(place)
    isSorted = false
    return SeriesID(place: place, generation: generations[Int(place)])
  }

  /// Keys whose values were cut are not kept: nothing bounds their size.
  private mutating func remember(_ id: SeriesID, _ labels: RenderedLabels, for key: Key) {
    if !labels.isCut, byKey.count < configuration.limit { byKey[key] = id }
  }

  private mutating func findOverflow() -> SeriesID {
    overflowCount &+= 1
    if let overflow { return overflow }
    let id = insert(.overflow, make())
    overflow = id
    return id
  }
}

extension SeriesTable where Row: SeriesRow {
  /// All columns as they are now, each with its series by label values. Series that have been idle for too
  /// long are forgotten.
  mutating func gather(at now: Instant) -> [GatheredFamily] {
    expire(at: now)
    // Nearly all are in order already, which the sort of the standard library takes as a run.
    if !isSorted {
      let labels = series.map { $0?.labels ?? .overflow }
      order.sort { labels[Int($0)] < labels[Int($1)] }
    }
    isSorted = true
    // Omits zero for run-time labels, which mostly make a single series.
    let overflowCount = Key.self == Labels.self && overflowCount == 0 ? nil : overflowCount
    return columns.enumerated().map { index, column in
      // `compactMap` takes three times as long: it is not specialized for the app's type of key.
      var gathered: [GatheredFamily.Series] = []
      gathered.reserveCapacity(order.count)
      for place in order {
        guard let one = series[Int(place)], let content = one.row.content(of: index) else { continue }
        gathered.append((one.labels, content))
      }
      return GatheredFamily(
        column.descriptor, overflowCount: overflowCount, droppedCount: column.dropped.count, series: gathered)
    }
  }

  private mutating func expire(at now: Instant) {
    // At least 1 ns, so that what was just recorded is not idle.
    guard let expiry = configuration.idleExpiry.map({ max($0.nanoseconds, 1) }) else { return }
    var expired: [UInt32] = []
    for place in order where place != overflow?.place {
      if series[Int(place)]?.isIdle(for: expiry, at: now) == true { expired.append(place) }
    }
    if !expired.isEmpty { forget(expired) }
  }
}

/// A series of a table. It leads nowhere once that series is gone.
struct SeriesID: Hashable, Sendable {
  let place: UInt32
  fileprivate let generation: UInt32

  fileprivate var index: Int { Int(place) }
}

/// One metric of a table.
struct SeriesColumn: Sendable {
  let descriptor: FamilyDescriptor
  let dropped = DroppedValues()
}

/// What a table keeps under one label set: a value, or the value of each column.
protocol SeriesRow: Sendable {
  /// Whether the row is in use outside of its table. Such a row does not expire.
  static func isHeld(_ row: inout Self) -> Bool
  /// A number that changes with every record.
  var activity: UInt64 { get }
  /// What a column shows, or `nil` where nothing has been recorded in it.
  func content(of column: Int) -> GatheredFamily.Content?
}

extension SeriesRow where Self: AnyObject {
  /// Whether the app has an instrument: nothing else but the table refers to it, a current scrape apart.
  static func isHeld(_ row: inout Self) -> Bool { !isKnownUniquelyReferenced(&row) }
}

/// One series, or as many as its table has columns.
private struct Series<Row: Sendable>: Sendable {
  let labels: RenderedLabels
  var row: Row
  private var activity: UInt64 = 0
  /// Since when nothing has been recorded; `never` if unknown, because an optional takes 16 bytes more for
  /// each series.
  var idleSince = Instant.never

  init(labels: RenderedLabels, row: Row) { (self.labels, self.row) = (labels, row) }

  @inline(__always)
  mutating func update(_ change: (inout Row) -> Void) { change(&row) }
}

extension Series where Row: SeriesRow {
  /// Whether nothing has been recorded for so long, and nothing can be.
  mutating func isIdle(for expiry: Int64, at now: Instant) -> Bool {
    // Checked first: `activity` then includes what the app recorded before it released the row.
    guard !Row.isHeld(&row) else { return false }
    let activity = row.activity
    guard idleSince != .never, activity == self.activity else {
      (self.activity, idleSince) = (activity, now)
      return false
    }
    return now.nanoseconds - idleSince.nanoseconds >= expiry
  }
}

/// Counts the values that the instruments of a family drop, exposed as `session_tap_dropped_values_total`.
final class DroppedValues: Sendable {
  private let counter = Atomic<UInt64>(0)

  func increment() { counter.wrappingAdd(1, ordering: .relaxed) }

  var count: UInt64 { counter.load(ordering: .relaxed) }
}
