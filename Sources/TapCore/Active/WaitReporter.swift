import Synchronization

/// Lists the requests that have not ended. Reports to the consumers those that wait, and at the end of the
/// process those that are active.
final class WaitReporter: Sendable {
  /// Of the requests that the app makes, then of those that it serves.
  private let metrics: [RequestMetrics]
  private let consumers: [any RequestConsumer]
  private let lookTime: Duration
  private let unfinished = Atomic(0)
  /// The process ends, or the tap has been shut down: no request is reported any more.
  private let isOver = Atomic(false)
  private let probe = Mutex<QueueProbe?>(nil)

  /// The most requests that are reported as unfinished, each by itself.
  static let unfinishedLimit = 1_000
  /// The most requests that are looked at for a question.
  private static let lookLimit = 1_000
  /// The most waiting requests that one report refreshes.
  private static let reportLimit = 100

  /// - Parameter lookTime: How long a question waits for the queue on which requests are looked at.
  init(
    _ metrics: [RequestMetrics], _ consumers: [any RequestConsumer],
    lookTime: Duration = .milliseconds(100)
  ) {
    (self.metrics, self.consumers, self.lookTime) = (metrics, consumers, lookTime)
  }

  /// The requests that are active or unstarted for at least so long, oldest first.
  ///
  /// - Parameter limit: The most requests, the oldest. The others are counted.
  func requests(
    olderThan age: Duration = .zero, limit: Int = .max
  ) -> (oldest: [RequestSnapshot], more: Int) {
    let instant = Instant(nanoseconds: Instant.now.nanoseconds - max(0, age.nanoseconds))
    let all = metrics.flatMap { $0.withLock { $0.active.list(since: instant) } }
    return (snapshots(of: all, atMost: limit, at: instant), max(0, all.count - max(0, limit)))
  }

  /// The requests that wait for longer than the limits of their directions, whether reported yet or not.
  ///
  /// - Parameters:
  ///   - count: The most requests of which there are snapshots.
  ///   - shorter: A shorter limit than those of the directions.
  func waiting(atMost count: Int, at now: Instant, orFor shorter: Duration? = nil) -> WaitingRequests {
    let waiting = metrics.map { $0.withLock { $0.active.waiting(at: now, orFor: shorter) } }
    let all = waiting.flatMap(\.requests)
    let held = held(at: now).flatMap { $0.duration >= HeldQueue.limit ? $0 : nil }
    return WaitingRequests(
      limits: metrics.map(\.waitingLimit), held: held,
      count: all.count, unstartedCount: waiting.reduce(0) { $0 + $1.unstartedCount },
      oldest: snapshots(of: all, atMost: count, at: now))
  }

  /// The oldest requests, brought up to date, without those that have ended meanwhile.
  ///
  /// - Parameter instant: The snapshots are of no earlier moment.
  private func snapshots(
    of requests: [ActiveRequestTable.Request], atMost limit: Int, at instant: Instant
  ) -> [RequestSnapshot] {
    let oldest = requests.sorted { $0.start < $1.start }.prefix(max(0, limit))
    look(at: oldest)
    let now = max(instant, .now)
    return oldest.compactMap { $0.record.snapshot(since: $0.start, at: now) }
  }

  /// The calls that some of these requests wait for.
  private func calls(of requests: [RequestSnapshot]) -> [ActiveRequestTable.Request] {
    let served = Set(requests.lazy.filter { $0.wait == .request }.compactMap(\.record))
    guard !served.isEmpty, let metrics = metrics.first else { return [] }
    return metrics.withLock { $0.active.calls(within: served) }
  }

  /// Waits for Foundation's queue, 0.1 s at most.
  private func look(at requests: ArraySlice<ActiveRequestTable.Request>) {
    Looks(at: requests.prefix(Self.lookLimit).map(\.record)).wait(until: .now.advanced(by: lookTime))
  }

  /// Those that are active or unstarted, oldest first.
  private var active: [ActiveRequestTable.Request] {
    metrics.flatMap { $0.withLock { $0.active.list(since: .never) } }.sorted { $0.start < $1.start }
  }

  /// How many requests URLSession has taken and not started, and for how long the oldest of them has waited.
  func unstarted(at now: Instant = .now) -> (count: Int, age: Duration) {
    let unstarted = metrics.first?.withLock { $0.active.unstarted } ?? []
    return (unstarted.count, unstarted.first.map { $0.start.duration(to: now) } ?? .zero)
  }

  /// Has the queue of all URLSessions watched by a probe.
  func watch(_ probe: QueueProbe) { self.probe.withLock { $0 = probe } }

  /// For how long that queue has not run what was put on it; `nil` while it does, and if none is watched.
  func held(at now: Instant = .now) -> HeldQueue? { probe.withLock { $0 }?.held(at: now) }

  /// Reports what has waited for too long. Called by the drain.
  ///
  /// - Parameter isUsed: Whether requests have begun or ended since the last call.
  /// - Returns: When the next one is due.
  func reportWaits(isUsed: Bool, at now: Instant) -> Instant {
    if isOver.load(ordering: .relaxed) { return .never }
    var (earliest, isUsed) = (Instant.never, isUsed)
    for metrics in metrics {
      let reports = metrics.withLock { $0.active.takeReports(at: now) }
      earliest = min(earliest, reports.next)
      let soon = reports.soon.prefix(Self.reportLimit)
      let calls = calls(of: soon.compactMap { $0.record.snapshot(since: $0.start, at: now) })
      for request in soon + calls { request.record.look {} }
      let due = reports.due.compactMap { $0.record.snapshot(since: $0.start, at: now) }
      // A served request waits no longer than what it waits for.
      let moving = Set(self.calls(of: due).filter { isMoving($0, at: now) }.map(\.record.call?.servedID))
      for request in due where !moving.contains(request.record) {
        for consumer in consumers { consumer.requestWaits(request) }
        isUsed = true
      }
    }
    return min(earliest, reportHeldQueue(isUsed: isUsed, at: now))
  }

  /// Whether something of a call has passed within the limit of made requests, or may have.
  private func isMoving(_ call: ActiveRequestTable.Request, at now: Instant) -> Bool {
    guard let limit = metrics.first?.waitingLimit,
      let call = call.record.snapshot(since: call.start, at: now)
    else { return true }
    return call.duration < limit || call.knownIdleTime.map { $0 < limit } == true
  }

  private func reportHeldQueue(isUsed: Bool, at now: Instant) -> Instant {
    guard let probe = probe.withLock({ $0 }) else { return .never }
    let (held, next) = probe.turn(isUsed: isUsed, at: now)
    if let held {
      let count = unstarted(at: now).count
      for consumer in consumers { consumer.queueIsHeld(held, unstarted: count) }
    }
    return next
  }

  /// How many requests were active when the tap ended, 0 before.
  var unfinishedCount: Int { unfinished.load(ordering: .relaxed) }

  /// Has the requests that ``reportUnfinished()`` reports brought up to date.
  func lookAtOldest() { look(at: active.prefix(Self.unfinishedLimit)) }

  /// Reports the active requests as the process ends, each once. Those that end from now on have had their
  /// line.
  func reportUnfinished() {
    isOver.store(true, ordering: .relaxed)
    let now = Instant.now
    let requests = active.compactMap { $0.record.unfinished(since: $0.start, at: now) }
    if requests.isEmpty { return }
    unfinished.add(requests.count, ordering: .relaxed)
    let more = requests.count - Self.unfinishedLimit
    for consumer in consumers {
      for request in requests.prefix(Self.unfinishedLimit) { consumer.requestIsUnfinished(request) }
      if more > 0 { consumer.requestsAreUnfinished(more) }
      consumer.batchEnded()
    }
  }
}

/// Looks at requests, and knows when all have been looked at.
private final class Looks: Sendable {
  private let left: Atomic<Int>
  private let progress = EventCount()

  init(at records: [RequestRecord]) {
    left = Atomic(records.count)
    for record in records { record.look { self.end() } }
  }

  private func end() {
    if left.subtract(1, ordering: .releasing).newValue == 0 { progress.signal() }
  }

  func wait(until deadline: Instant) {
    _ = progress.wait(until: deadline) { left.load(ordering: .acquiring) == 0 ? true : nil }
  }
}

/// The requests that wait for longer than the limits of their directions.
package struct WaitingRequests: Sendable {
  /// Of the requests that the app makes, and of those that it serves.
  package let limits: [Duration?]
  /// The queue of all URLSessions, if it counts as held.
  package let held: HeldQueue?
  package let count: Int
  /// How many of them are unstarted: 0 unless the queue of all sessions counts as held.
  package let unstartedCount: Int
  /// The oldest ones, oldest first.
  package let oldest: [RequestSnapshot]
}
