/// The series of one family: found by key, found by labels, listed in order, bounded in number.
///
/// A pure value; ``Family`` keeps it under a lock.
struct SeriesTable<Key: Hashable & Sendable, Element: AnyObject & Sendable>: Sendable {
  private let limit: Int
  /// The keys seen: a cache of `byLabels`. Many keys may lead to one series, so it has its own bound.
  private var byKey: [HashedKey<Key>: Series<Element>] = [:]
  private var byLabels: [RenderedLabels: Series<Element>] = [:]
  private var ordered: [Series<Element>] = []
  private var added: [Series<Element>] = []
  private var overflow: Series<Element>?
  /// How many times a label set found no room.
  private(set) var overflowCount: UInt64 = 0

  init(limit: Int) {
    self.limit = max(0, limit)
  }

  /// The series of a key seen before.
  func series(for key: HashedKey<Key>) -> Series<Element>? {
    byKey[key]
  }

  /// The series of a label set: the one there is, a new one, or the overflow series where there is no room.
  mutating func series(
    for key: HashedKey<Key>, labels: RenderedLabels, created: Timestamp, make: () -> Element
  ) -> Series<Element> {
    if let series = byLabels[labels] {
      remember(series, for: key)
      return series
    }
    guard byLabels.count < limit else {
      overflowCount &+= 1
      return overflowSeries(created: created, make: make)
    }
    let series = Series(labels: labels, element: make(), created: created)
    byLabels[labels] = series
    added.append(series)
    remember(series, for: key)
    return series
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

  /// Keys whose values were cut are not kept: nothing bounds their size.
  private mutating func remember(_ series: Series<Element>, for key: HashedKey<Key>) {
    guard !series.labels.isCut, byKey.count < limit else { return }
    byKey[key] = series
  }

  private mutating func overflowSeries(created: Timestamp, make: () -> Element) -> Series<Element> {
    if let overflow { return overflow }
    let series = byLabels[.overflow] ?? Series(labels: .overflow, element: make(), created: created)
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
