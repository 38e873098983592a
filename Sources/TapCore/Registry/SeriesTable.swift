/// The series of one family: found by key, found by labels, listed in order, bounded in number.
///
/// A pure value; ``Family`` keeps it under a lock.
struct SeriesTable<Key: Hashable & Sendable, Element: AnyObject & Sendable>: Sendable {
  private let options: SeriesOptions
  /// The keys seen: a cache of `byLabels`. Many keys may lead to one series, so it has its own bound.
  private var byKey: [HashedKey<Key>: Series<Element>] = [:]
  private var byLabels: [RenderedLabels: Series<Element>] = [:]
  private var ordered: [Series<Element>] = []
  private var added: [Series<Element>] = []
  private var overflow: Series<Element>?
  private var parked: [RenderedLabels: ParkedSeries<Element>] = [:]
  /// How many times a label set found no room.
  private(set) var overflowCount: UInt64 = 0
  /// Changes whenever series are forgotten.
  private(set) var generation = 0

  init(_ options: SeriesOptions) {
    self.options = options
  }

  /// The series of a key seen before.
  func series(for key: HashedKey<Key>) -> Series<Element>? {
    guard let series = byKey[key] else { return nil }
    series.idleMark?.touch()
    return series
  }

  /// The series of a label set: the one there is, a new one, or the overflow series where there is no room.
  mutating func series(
    for key: HashedKey<Key>, labels: RenderedLabels, created: Timestamp, make: () -> Element
  ) -> Series<Element> {
    let series = series(labels: labels, created: created, make: make)
    if series.labels == labels { remember(series, for: key) }
    return series
  }

  /// The same, for an owner that knows its keys itself.
  mutating func series(
    labels: RenderedLabels, created: Timestamp, make: () -> Element
  ) -> Series<Element> {
    if let series = byLabels[labels] {
      series.idleMark?.touch()
      return series
    }
    guard byLabels.count < options.limit else {
      overflowCount &+= 1
      return overflowSeries(created: created, make: make)
    }
    let former = parked.removeValue(forKey: labels)
    let element = former?.element
    return insert(
      element ?? make(), labels: labels, created: element == nil ? created : former?.created ?? created)
  }

  /// The overflow series, for a label set that is known to be new; `nil` if there is room for it.
  mutating func overflowIfFull(make: () -> Element) -> Series<Element>? {
    guard byLabels.count >= options.limit else { return nil }
    overflowCount &+= 1
    return overflow ?? overflowSeries(created: .now, make: make)
  }

  /// All series, by label values.
  mutating func sorted() -> [Series<Element>] {
    if !added.isEmpty {
      added.sort { $0.labels < $1.labels }
      ordered = ordered.merging(added) { $0.labels < $1.labels }
      added = []
    }
    return ordered
  }

  /// Forgets the series of a label set. Whoever keeps its instrument records unseen.
  mutating func remove(_ labels: RenderedLabels) -> Bool {
    parked[labels] = nil
    let isOverflow = overflow?.labels == labels
    if isOverflow { overflow = nil }
    guard byLabels.removeValue(forKey: labels) != nil || isOverflow else { return false }
    forgetSeries { $0.labels == labels }
    return true
  }

  /// Forgets all series.
  mutating func removeAll() {
    byKey = [:]
    byLabels = [:]
    ordered = []
    added = []
    overflow = nil
    parked = [:]
    generation += 1
  }

  /// Parks the series that have been idle for too long, and takes back those that are so no more.
  ///
  /// - Parameter activity: a number that changes with every record.
  mutating func expire(at now: ContinuousClock.Instant, activity: (Element) -> UInt64) {
    guard let expiry = options.leastIdleTime else { return }
    for (labels, former) in parked {
      if let element = former.element {
        guard activity(element) != former.activity, byLabels.count < options.limit else { continue }
        insert(element, labels: labels, created: former.created)
      }
      parked[labels] = nil
    }
    var expired: Set<RenderedLabels> = []
    for (labels, series) in byLabels {
      let current = activity(series.element)
      guard let mark = series.idleMark, mark.idleTime(at: now, activity: current) >= expiry else { continue }
      parked[labels] = ParkedSeries(series, activity: current)
      expired.insert(labels)
    }
    guard !expired.isEmpty else { return }
    for labels in expired { byLabels[labels] = nil }
    forgetSeries { expired.contains($0.labels) }
  }

  private mutating func forgetSeries(_ isForgotten: (Series<Element>) -> Bool) {
    generation += 1
    byKey = byKey.filter { !isForgotten($0.value) }
    ordered.removeAll(where: isForgotten)
    added.removeAll(where: isForgotten)
  }

  @discardableResult
  private mutating func insert(
    _ element: Element, labels: RenderedLabels, created: Timestamp
  ) -> Series<Element> {
    let series = Series(
      labels: labels, element: element, created: created, expires: options.idleExpiry != nil)
    byLabels[labels] = series
    added.append(series)
    return series
  }

  /// Keys whose values were cut are not kept: nothing bounds their size.
  private mutating func remember(_ series: Series<Element>, for key: HashedKey<Key>) {
    guard !series.labels.isCut, byKey.count < options.limit else { return }
    byKey[key] = series
  }

  private mutating func overflowSeries(created: Timestamp, make: () -> Element) -> Series<Element> {
    if let overflow { return overflow }
    let series =
      byLabels[.overflow]
      ?? Series(labels: .overflow, element: make(), created: created, expires: false)
    if byLabels[.overflow] == nil { added.append(series) }
    overflow = series
    return series
  }
}

extension Array {
  /// Merges two sorted arrays.
  fileprivate func merging(_ other: [Element], by precedes: (Element, Element) -> Bool) -> [Element] {
    guard !isEmpty else { return other }
    var merged: [Element] = []
    merged.reserveCapacity(count + other.count)
    var rest = self[...]
    for element in other {
      while let first = rest.first, !precedes(element, first) { merged.append(rest.removeFirst()) }
      merged.append(element)
    }
    return merged + rest
  }
}
