/// The requests of one direction that have not ended, as values. Kept under a lock by its owner.
///
/// A request is listed when the drain delivers it and it has not ended: one that begins and ends within a
/// batch never is. The table keeps no request alive: one that is released leaves.
struct ActiveRequestTable {
  /// A request that has begun.
  private struct Active {
    weak var record: RequestRecord?
    let start: Instant
    let series: RequestSeries
    /// When its wait is reported next.
    var report: Instant
    /// It has been looked at for that report.
    var isPrepared = false

    /// When it is to be looked at, or reported.
    func next(_ preparation: Int64) -> Instant {
      isPrepared || report == .never ? report : Instant(nanoseconds: report.nanoseconds &- preparation)
    }
  }

  /// A request that URLSession has taken and not started.
  private struct Unstarted {
    weak var record: RequestRecord?
    /// When it was listed.
    let start: Instant
  }

  /// A request of the table, and since when it waits.
  struct Listed {
    let record: RequestRecord
    let start: Instant
  }

  /// What has waited for so long that it is reported.
  struct Reports {
    var requests: [Listed] = []
    /// Those that are reported soon.
    var soon: [RequestRecord] = []
  }

  /// What has waited for so long that it is reported, as it is now.
  struct Overdue {
    /// How many requests there are: those that have not been started count after ``heldLimit``.
    var count = 0
    var unstartedCount = 0
    /// The oldest of them, oldest first.
    var oldest: [Listed] = []
  }

  /// After how long a queue that does not run, or starts nothing, counts as held, if requests may wait that
  /// long.
  static let heldLimit = Duration.seconds(5)

  /// Nanoseconds, `nil` for no reports.
  private let limit: Int64?
  private let heldLimit: Int64?
  /// How long before a report a request is looked at, in nanoseconds.
  private let preparation: Int64
  private var active: [ObjectIdentifier: Active] = [:]
  private var unstarted: [ObjectIdentifier: Unstarted] = [:]
  /// The earliest of all reports, or earlier.
  private(set) var nextReport = Instant.never

  /// - Parameter limit: How long a request may be under way before it is reported, 1 ms at least: then, and
  ///   at each doubling of that time.
  init(limit: Duration?) {
    self.limit = limit.map { max(1_000_000, $0.nanoseconds) }
    heldLimit = self.limit.map { min($0, Self.heldLimit.nanoseconds) }
    preparation = min(100_000_000, (self.limit ?? 0) / 2)
  }

  var isEmpty: Bool { active.isEmpty && unstarted.isEmpty }

  /// - Parameter isReported: Whether its wait is reported.
  mutating func begin(_ record: RequestRecord, at start: Instant, in series: RequestSeries, isReported: Bool)
  {
    let report = isReported ? limit.map { start.advanced(by: .nanoseconds($0)) } ?? .never : .never
    let request = Active(record: record, start: start, series: series, report: report)
    unstarted[ObjectIdentifier(record)] = nil
    active[ObjectIdentifier(record)] = request
    nextReport = min(nextReport, request.next(preparation))
  }

  /// A request that has not begun.
  mutating func add(_ record: RequestRecord, at now: Instant) {
    unstarted[ObjectIdentifier(record)] = Unstarted(record: record, start: now)
  }

  mutating func remove(_ record: RequestRecord) {
    active[ObjectIdentifier(record)] = nil
    unstarted[ObjectIdentifier(record)] = nil
    if isEmpty { reset() }
  }

  /// Nothing is under way any more. The memory of many requests goes with them.
  private mutating func reset() {
    nextReport = .never
    if active.capacity > 1_024 { active = [:] }
    if unstarted.capacity > 1_024 { unstarted = [:] }
  }

  /// What is to be reported now. Each wait is reported at the limit, and at each doubling of it.
  mutating func takeReports(at now: Instant) -> Reports {
    var reports = Reports()
    guard let limit, nextReport <= now else { return reports }
    removeReleased()
    for (id, request) in active where request.next(preparation) <= now {
      // It would be due for ever.
      guard let record = request.record else {
        active[id] = nil
        continue
      }
      active[id]?.isPrepared = request.report > now
      if request.report > now {
        reports.soon.append(record)
      } else {
        active[id]?.report = Self.nextReport(since: request.start, limit, after: now)
        reports.requests.append(Listed(record: record, start: request.start))
      }
    }
    reports.requests.sort { $0.start < $1.start }
    nextReport = active.values.reduce(.never) { min($0, $1.next(preparation)) }
    return reports
  }

  /// The first doubling of the limit that has not passed.
  private static func nextReport(since start: Instant, _ limit: Int64, after now: Instant) -> Instant {
    var time = limit
    while start.advanced(by: .nanoseconds(time)) <= now, time <= .max / 2 { time *= 2 }
    return start.advanced(by: .nanoseconds(time))
  }

  /// Those that wait since an instant or an earlier one, in no order.
  func list(since instant: Instant) -> [Listed] {
    let all = active.values.map { ($0.record, $0.start) } + unstarted.values.map { ($0.record, $0.start) }
    return all.compactMap { record, start in
      start <= instant ? record.map { Listed(record: $0, start: start) } : nil
    }
  }

  /// What waits for longer than the limit now, whenever it is reported next.
  ///
  /// - Parameter count: The most requests that are listed.
  func overdue(atMost count: Int, at now: Instant) -> Overdue {
    guard let limit, let heldLimit else { return Overdue() }
    func isOver(_ limit: Int64, since start: Instant) -> Bool {
      now.nanoseconds &- start.nanoseconds >= limit
    }
    var waits = active.values.filter { $0.report != .never && isOver(limit, since: $0.start) }
      .map { (record: $0.record, start: $0.start) }
    let oldest = unstarted.values.map(\.start).min()
    let isHeld = oldest.map { isOver(heldLimit, since: $0) } ?? false
    if isHeld { waits += unstarted.values.map { ($0.record, $0.start) } }
    waits.sort { $0.start < $1.start }
    return Overdue(
      count: waits.count, unstartedCount: isHeld ? unstarted.count : 0,
      oldest: waits.prefix(count).compactMap { record, start in
        record.map { Listed(record: $0, start: start) }
      })
  }

  /// Calls for each request that has begun.
  func forEachActive(_ body: (RequestSeries, Instant) -> Void) {
    for request in active.values { body(request.series, request.start) }
  }

  /// How many requests have not been started, and since when the oldest of them waits.
  var waitingForStart: (count: Int, oldest: Instant)? {
    unstarted.values.map(\.start).min().map { (unstarted.count, $0) }
  }

  /// Forgets those that have been released without a start. One that has begun ends before it is released.
  mutating func removeReleased() {
    guard !unstarted.isEmpty else { return }
    unstarted = unstarted.filter { $0.value.record != nil }
    if isEmpty { reset() }
  }
}
