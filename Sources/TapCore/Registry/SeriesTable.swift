/// The limit and the expiry of a family's series.
public struct SeriesOptions: Sendable, Hashable {
  /// The maximum number of series. Further label sets share one series, whose only label is
  /// `otel_metric_overflow="true"`, and count in `session_tap_series_overflow_total`. With 0 or less, all of
  /// them do.
  public var limit: Int

  /// How long an idle series stays. `nil`, the default, keeps it forever.
  ///
  /// Scrapes remove idle series. An instrument that the app has kept stays usable: its series returns with
  /// its values at the next record. With zero or less, a series is exposed only by the first scrape after a
  /// record.
  public var idleExpiry: Duration?

  /// 2,000 series, the default of the OpenTelemetry metrics SDK, without expiry.
  public init(limit: Int = 2_000, idleExpiry: Duration? = nil) {
    self.limit = limit
    self.idleExpiry = idleExpiry
  }
}

/// The series of one family, or of families that share their labels: found by key, found by labels, listed in order, bounded
/// in number. A pure value, kept under a lock by its owner.
struct SeriesTable<Key: Hashable & Sendable, Element: AnyObject & Sendable>: Sendable {
  private let options: SeriesOptions
  /// The keys seen: a cache of `byLabels`. Many keys may lead to one series, so it has its own bound.
  private var byKey: [Key: Series<Element>] = [:]
  private var byLabels: [RenderedLabels: Series<Element>] = [:]
  /// Those of `byLabels` and the overflow series. In order, but for those that were added since they were last asked for.
  private var listed: [Series<Element>] = []
  private var isSorted = true
  private var overflow: Series<Element>?
  private var parked: [RenderedLabels: ParkedSeries<Element>] = [:]
  /// How many times a label set found no room.
  private(set) var overflowCount: UInt64 = 0

  init(_ options: SeriesOptions) {
    self.options = options
  }

  /// The element of a key seen before.
  func element(for key: Key) -> Element? {
    guard let series = byKey[key] else { return nil }
    series.touch()
    return series.element
  }

  /// The element of a label set: the one there is, a new one, or that of the overflow series where there is no room.
  mutating func element(for key: Key, labels: RenderedLabels, make: () -> Element) -> Element {
    if let series = byLabels[labels] {
      series.touch()
      return remember(series, for: key)
    }
    guard byLabels.count < options.limit else { return overflowElement(make) }
    let former = parked.removeValue(forKey: labels)
    let element = former?.element
    let created = element == nil ? Timestamp.now : former?.created ?? .now
    let series = insert(element ?? make(), labels: labels, created: created)
    byLabels[labels] = series
    return remember(series, for: key)
  }

  /// The element of a key, where each key has labels of its own and none is too long to be one: a flood of new keys then
  /// costs no more than known ones. `isShared` if it is that of the overflow series.
  mutating func element(
    for key: Key, labels: (Key) -> RenderedLabels, make: () -> Element
  ) -> (element: Element, isShared: Bool) {
    if let element = element(for: key) { return (element, false) }
    guard byLabels.count < options.limit else { return (overflowElement(make), true) }
    return (element(for: key, labels: labels(key), make: make), false)
  }

  /// All series, by label values.
  mutating func sorted() -> [Series<Element>] {
    // Nearly all are in order already, which the sort of the standard library takes as a run.
    if !isSorted { listed.sort { $0.labels < $1.labels } }
    isSorted = true
    return listed
  }

  /// Forgets the series of a label set, or all. An instrument of it that the app keeps records unseen.
  mutating func remove(_ labels: RenderedLabels?) -> Bool {
    guard let labels else {
      let count = overflowCount
      self = SeriesTable(options)
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

  /// Parks the series that have been idle for too long, and takes back those that are no longer idle. `activity` changes with every
  /// record, and is `nil` for an element that is in use.
  mutating func expire(at now: Instant, activity: (Element) -> UInt64?) {
    // At least so long that what has just been recorded is not idle.
    guard let expiry = options.idleExpiry.map({ max($0.nanoseconds, 1) }) else { return }
    for (labels, former) in parked {
      if let element = former.element {
        guard activity(element) != former.activity, byLabels.count < options.limit else { continue }
        byLabels[labels] = insert(element, labels: labels, created: former.created)
      }
      parked[labels] = nil
    }
    var expired: Set<RenderedLabels> = []
    for (labels, series) in byLabels {
      guard let current = activity(series.element),
        series.idleNanoseconds(at: now, activity: current) >= expiry
      else {
        continue
      }
      parked[labels] = ParkedSeries(element: series.element, created: series.created, activity: current)
      expired.insert(labels)
    }
    guard !expired.isEmpty else { return }
    for labels in expired { byLabels[labels] = nil }
    forget { expired.contains($0.labels) }
  }

  private mutating func forget(_ isForgotten: (Series<Element>) -> Bool) {
    byKey = byKey.filter { !isForgotten($0.value) }
    listed.removeAll(where: isForgotten)
  }

  private mutating func insert(
    _ element: Element, labels: RenderedLabels, created: Timestamp = .now
  ) -> Series<Element> {
    let series = Series(labels: labels, element: element, created: created)
    listed.append(series)
    isSorted = false
    return series
  }

  /// Keys whose values were cut are not kept: nothing bounds their size.
  private mutating func remember(_ series: Series<Element>, for key: Key) -> Element {
    if !series.labels.isCut, byKey.count < options.limit { byKey[key] = series }
    return series.element
  }

  private mutating func overflowElement(_ make: () -> Element) -> Element {
    overflowCount &+= 1
    if let overflow { return overflow.element }
    let series = byLabels[.overflow] ?? insert(make(), labels: .overflow)
    overflow = series
    return series.element
  }
}

/// One series of a family. What changes is guarded by the lock of the table's owner.
final class Series<Element: AnyObject & Sendable>: @unchecked Sendable {
  let labels: RenderedLabels
  let element: Element
  let created: Timestamp
  private var activity: UInt64 = 0
  /// Since when nothing has been recorded. `nil` if that is unknown.
  private var idleSince: Instant?

  fileprivate init(labels: RenderedLabels, element: Element, created: Timestamp) {
    self.labels = labels
    self.element = element
    self.created = created
  }

  fileprivate func touch() { idleSince = nil }

  /// For how long nothing has been recorded, where each record changes `activity`.
  fileprivate func idleNanoseconds(at now: Instant, activity: UInt64) -> Int64 {
    guard let idleSince, activity == self.activity else {
      (self.activity, idleSince) = (activity, now)
      return 0
    }
    return now.nanoseconds - idleSince.nanoseconds
  }
}

/// An expired series, as long as the app keeps its instrument: it comes back when something is recorded.
private struct ParkedSeries<Element: AnyObject & Sendable>: Sendable {
  private(set) weak var element: Element?
  let created: Timestamp
  let activity: UInt64
}
