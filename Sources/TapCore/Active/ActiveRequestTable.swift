/// The requests of one direction that have not ended, oldest first. Kept under a lock by its owner.
///
/// A request enters when the drain delivers it before its end: one that begins and ends within a batch never
/// does. The table keeps no request alive.
package struct ActiveRequestTable: Sendable {
  /// A request, and when it began, or entered as an unstarted one.
  typealias Request = (record: RequestRecord, start: Instant)

  private struct Entry {
    /// `nil` once the request has left: such an entry is removed later, with others.
    weak var record: RequestRecord?
    let start: Instant
    /// The record of the served request within which it is made: it is found without a look at the others.
    let served: ObjectIdentifier?
    /// Where the begin was counted; `nil` of an unstarted request.
    var series: RequestSeries?

    var request: Request? { record.map { ($0, start) } }
  }

  /// Nanoseconds, `nil` for no reports.
  private let limit: Int64?
  /// The clients and the templates whose requests may take any time. A framework may know a request's route
  /// only after its begin, so it is asked for when there is something to report.
  private let exemptions: Set<String>
  /// How long before a report a request is looked at, in nanoseconds.
  private let preparation: Int64
  /// In the order of their starts, which is about that in which they come.
  private var entries: [Entry] = []
  private var goneCount = 0
  /// Up to when waits have been reported, and requests looked at for later reports.
  private var (reported, prepared) = (Instant(nanoseconds: .min), Instant(nanoseconds: .min))

  /// - Parameter limit: How long a request may be active before it is reported, 1 ms at least: then, and at
  ///   each doubling of that time.
  init(limit: Duration?, exemptions: Set<String> = []) {
    self.exemptions = exemptions
    self.limit = limit.map { max(1_000_000, $0.nanoseconds) }
    preparation = min(100_000_000, (self.limit ?? 0) / 2)
  }

  var isEmpty: Bool { entries.isEmpty }

  /// - Parameter series: Where the begin was counted; `nil` of an unstarted request.
  package mutating func add(_ record: RequestRecord, at start: Instant, in series: RequestSeries? = nil) {
    // Unstarted requests that are released do not say so.
    if entries.count == entries.capacity {
      removeGone()
      entries.reserveCapacity(2 * entries.count)
    }
    let entry = Entry(record: record, start: start, served: record.call?.servedID, series: series)
    entries.insert(entry, at: firstIndex { $0 > start })
  }

  package mutating func remove(_ record: RequestRecord, since start: Instant) {
    var index = firstIndex { $0 >= start }
    while index < entries.count, entries[index].start == start, entries[index].record !== record {
      index += 1
    }
    guard index < entries.count, entries[index].start == start else { return }
    (entries[index].record, entries[index].series) = (nil, nil)
    goneCount += 1
    if goneCount > entries.count / 2 { removeGone() }
  }

  /// Removes the entries of requests that have left, or were released without a start.
  mutating func removeGone() {
    entries.removeAll { $0.record == nil }
    goneCount = 0
    // The memory of many requests goes with them.
    if entries.capacity > max(1_024, 4 * entries.count) { entries = entries.filter { _ in true } }
  }

  /// The first entry whose start is as late as asked for.
  private func firstIndex(_ isLate: (Instant) -> Bool) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if isLate(entries[middle].start) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// The requests whose waits are to be reported now, those that are to be looked at for a report that comes
  /// soon, and when to ask again.
  mutating func takeReports(at now: Instant) -> (due: [Request], soon: [Request], next: Instant) {
    guard let limit else { return ([], [], .never) }
    let (due, nextReport) = reports(limit, after: reported, until: now)
    let horizon = now.advanced(by: .nanoseconds(preparation))
    let (soon, later) = reports(limit, after: max(prepared, now), until: horizon)
    (reported, prepared) = (max(reported, now), max(prepared, horizon))
    let look = later == .never ? later : Instant(nanoseconds: later.nanoseconds - preparation)
    return (due, soon, min(nextReport, look))
  }

  /// The requests that come to the limit, or to a doubling of it, after an instant and until another, oldest
  /// first, and when one does next, or may do.
  ///
  /// Since the oldest come first, those that come to one of these times are neighbours. One that enters after
  /// its time is reported at the next doubling.
  private func reports(
    _ limit: Int64, after last: Instant, until now: Instant
  ) -> (due: [Request], next: Instant) {
    var (due, next, time, end) = ([Request](), Instant.never, Duration.nanoseconds(limit), entries.count)
    while true {
      let index = firstIndex { $0.advanced(by: time) > now }
      if index < entries.count { next = min(next, entries[index].start.advanced(by: time)) }
      // One that has come to several times is reported once.
      let begin = min(end, firstIndex { $0.advanced(by: time) > last })
      due =
        entries[begin..<max(begin, min(index, end))].filter { $0.series != nil && !isExempt($0) }
        .compactMap(\.request) + due
      if index == 0 || time.nanoseconds > .max / 2 { return (due, next) }
      (time, end) = (time * 2, begin)
    }
  }

  private func isExempt(_ entry: Entry) -> Bool {
    guard !exemptions.isEmpty, let request = entry.record?.description else { return false }
    return exemptions.contains(request.client) || request.urlTemplate.map(exemptions.contains) == true
  }

  /// Those that have been active or unstarted since an instant or an earlier one.
  func list(since instant: Instant) -> [Request] {
    entries.prefix { $0.start <= instant }.compactMap(\.request)
  }

  /// Those that wait for longer than the limit, or than a shorter one. All unstarted ones do as soon as the
  /// oldest of them has waited for ``HeldQueue/limit``.
  func waiting(at now: Instant, orFor shorter: Duration? = nil) -> (requests: [Request], unstartedCount: Int)
  {
    guard let reported = self.limit else { return ([], 0) }
    let limit = min(reported, shorter?.nanoseconds ?? .max)
    func isOver(_ limit: Int64, _ start: Instant) -> Bool { now.nanoseconds &- start.nanoseconds >= limit }
    let unstarted = unstarted
    let isHeld = unstarted.first.map { isOver(HeldQueue.limit.nanoseconds, $0.start) } ?? false
    let waiting = entries.filter {
      $0.series == nil ? isHeld : isOver(limit, $0.start) && !isExempt($0)
    }
    return (waiting.compactMap(\.request), isHeld ? unstarted.count : 0)
  }

  /// Those that have not been started.
  var unstarted: [Request] { entries.filter { $0.series == nil }.compactMap(\.request) }

  /// The calls within these served requests.
  func calls(within served: Set<ObjectIdentifier>) -> [Request] {
    // A report walks through all requests: to ask the set for each takes ten times as long, and to copy an
    // entry, with its weak reference, as long again.
    func place(_ served: ObjectIdentifier) -> Int { Int(bitPattern: served) >> 4 & 4_095 }
    var isWanted = [Bool](repeating: false, count: 4_096)
    for one in served { isWanted[place(one)] = true }
    let found = entries.indices.filter { index in
      guard let one = entries[index].served, isWanted[place(one)] else { return false }
      return served.contains(one)
    }
    return found.compactMap { entries[$0].request }
  }

  /// Calls for each request that has begun.
  func forEachActive(_ body: (RequestSeries, Instant) -> Void) {
    for index in entries.indices {
      if let series = entries[index].series { body(series, entries[index].start) }
    }
  }
}
