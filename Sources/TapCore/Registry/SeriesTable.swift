/// The series of one family, or of families that share their labels: found by key, found by labels, listed in order, bounded
/// in number.
///
/// A pure value, kept under a lock by its owner.
struct SeriesTable<Key: Hashable & Sendable, Element: AnyObject & Sendable>: Sendable {
  private let options: SeriesOptions
  /// The keys seen: a cache of `byLabels`. Many keys may lead to one series, so it has its own bound.
  private var byKey: [Key: Series<Element>] = [:]
  private var byLabels: [RenderedLabels: Series<Element>] = [:]
  private var ordered: [Series<Element>] = []
  private var added: [Series<Element>] = []
  private var overflow: Series<Element>?
  private var parked: [RenderedLabels: ParkedSeries<Element>] = [:]
  /// How many times a label set found no room.
  private(set) var overflowCount: UInt64 = 0

  init(_ options: SeriesOptions) {
    self.options = options
  }

  /// The series of a key seen before.
  func series(for key: Key) -> Series<Element>? {
    guard let series = byKey[key] else { return nil }
    series.idleMark?.touch()
    return series
  }

  /// The series of a label set: the one there is, a new one, or the overflow series where there is no room.
  mutating func series(
    for key: Key, labels: RenderedLabels, created: Timestamp, make: () -> Element
  ) -> Series<Element> {
    if let series = byLabels[labels] {
      series.idleMark?.touch()
      remember(series, for: key)
      return series
    }
    guard byLabels.count < options.limit else {
      overflowCount &+= 1
      return overflowSeries(created: created, make: make)
    }
    let former = parked.removeValue(forKey: labels)
    let element = former?.element
    let series = insert(
      element ?? make(), labels: labels, created: element == nil ? created : former?.created ?? created)
    remember(series, for: key)
    return series
  }

  /// The element of a key, where each key has labels of its own and none is too long to be one: a flood of new keys then
  /// costs no more than known ones.
  mutating func element(
    for key: Key, labels: (Key) -> RenderedLabels, make: () -> Element
  ) -> Element {
    if let series = series(for: key) { return series.element }
    guard byLabels.count < options.limit else {
      overflowCount &+= 1
      return overflowSeries(created: .now, make: make).element
    }
    return series(for: key, labels: labels(key), created: .now, make: make).element
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

  var isEmpty: Bool { ordered.isEmpty && added.isEmpty }

  /// Forgets the series of a label set. An instrument of it that the app keeps records unseen.
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
  }

  /// Parks the series that have been idle for too long, and takes back those that are no longer idle.
  ///
  /// - Parameter activity: A number that changes with every record, or `nil` for an element that is in use.
  mutating func expire(at now: ContinuousClock.Instant, activity: (Element) -> UInt64?) {
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
      guard let current = activity(series.element), let mark = series.idleMark,
        mark.idleTime(at: now, activity: current) >= expiry
      else { continue }
      parked[labels] = ParkedSeries(series, activity: current)
      expired.insert(labels)
    }
    guard !expired.isEmpty else { return }
    for labels in expired { byLabels[labels] = nil }
    forgetSeries { expired.contains($0.labels) }
  }

  private mutating func forgetSeries(_ isForgotten: (Series<Element>) -> Bool) {
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
  private mutating func remember(_ series: Series<Element>, for key: Key) {
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

/// One series of a family: its labels and its instrument.
final class Series<Element: AnyObject & Sendable>: Sendable {
  let labels: RenderedLabels
  let element: Element
  let created: Timestamp
  /// Only where the family lets series expire.
  fileprivate let idleMark: IdleMark?

  fileprivate init(labels: RenderedLabels, element: Element, created: Timestamp, expires: Bool) {
    self.labels = labels
    self.element = element
    self.created = created
    idleMark = expires ? IdleMark() : nil
  }
}

/// Since when nothing has been recorded in a series. Guarded by the lock of the table's owner.
private final class IdleMark: @unchecked Sendable {
  private var activity: UInt64 = 0
  private var since: ContinuousClock.Instant?

  /// The series has been asked for.
  func touch() {
    since = nil
  }

  /// How long the series has been idle.
  ///
  /// - Parameter activity: A number that changes with every record.
  func idleTime(at now: ContinuousClock.Instant, activity: UInt64) -> Duration {
    guard let since, activity == self.activity else {
      self.activity = activity
      self.since = now
      return .zero
    }
    return now - since
  }
}

/// An expired series, as long as the app keeps its instrument: it comes back when something is recorded.
private struct ParkedSeries<Element: AnyObject & Sendable>: Sendable {
  private(set) weak var element: Element?
  let created: Timestamp
  let activity: UInt64

  init(_ series: Series<Element>, activity: UInt64) {
    element = series.element
    created = series.created
    self.activity = activity
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

/// How many series a labelled family may hold, and for how long.
public struct SeriesOptions: Sendable, Hashable {
  /// The most series of the family. What would exceed it goes into one further series, whose only label is
  /// `otel_metric_overflow="true"`, and counts in `session_tap_series_overflow_total`. With 0 or less everything does.
  public var limit: Int

  /// How long a series stays in which nothing is recorded; `nil`, the default, keeps it for good.
  ///
  /// Scrapes look for idle series. A handle that the app keeps stays good: a series in which it is recorded again
  /// comes back with all it had. With zero or less a series is shown by those scrapes alone before which something was
  /// recorded in it.
  public var idleExpiry: Duration?

  /// The expiry, at least so long that what has just been recorded is not idle.
  var leastIdleTime: Duration? { idleExpiry.map { max($0, .nanoseconds(1)) } }

  /// 2,000 series, the default of the OpenTelemetry metrics SDK, without expiry.
  public init(limit: Int = 2_000, idleExpiry: Duration? = nil) {
    self.limit = limit
    self.idleExpiry = idleExpiry
  }
}
