import Synchronization

/// Reports to the consumers what is under way: while it waits, and at the end of the process.
final class WaitReporter: Sendable {
  private let metrics: [RequestMetrics]
  private let consumers: [any RequestConsumer]
  private let unfinished = Atomic(-1)
  private let probe = Mutex<QueueProbe?>(nil)

  /// The most requests that are reported as unfinished, each by itself.
  static let unfinishedLimit = 1_000
  /// The most requests that are looked at for a question.
  private static let lookLimit = 1_000
  /// The most that are looked at for reports, of which a log writes no more.
  private static let reportLimit = 100
  /// How long a question waits for the queue on which requests are looked at.
  private static let lookTime = Duration.milliseconds(100)

  init(_ metrics: [RequestMetrics], _ consumers: [any RequestConsumer]) {
    (self.metrics, self.consumers) = (metrics, consumers)
  }

  /// The requests that wait for at least so long, oldest first.
  ///
  /// - Parameter limit: The most requests, the oldest. The others are counted.
  func requests(
    olderThan age: Duration = .zero, limit: Int = .max
  ) -> (oldest: [RequestSnapshot], more: Int) {
    let instant = Instant(nanoseconds: Instant.now.nanoseconds - max(0, age.nanoseconds))
    let all = metrics.flatMap { $0.active(since: instant) }.sorted { $0.start < $1.start }
    let listed = all.prefix(max(0, limit))
    Looks(at: listed.prefix(Self.lookLimit).map(\.record)).wait(until: .now.advanced(by: Self.lookTime))
    let now = Instant.now
    return (
      listed.compactMap { $0.record.snapshot(since: $0.start, at: now) }, all.count - listed.count
    )
  }

  /// What has waited for so long that it is reported, as it is now.
  ///
  /// - Parameter count: The most requests that are listed.
  func overdue(atMost count: Int, at now: Instant) -> WaitingRequests {
    let overdue = metrics.map { $0.overdue(atMost: count, at: now) }
    let oldest = overdue.flatMap(\.oldest).sorted { $0.start < $1.start }.prefix(count)
    Looks(at: oldest.map(\.record)).wait(until: .now.advanced(by: Self.lookTime))
    let now = max(now, .now)
    let held = heldTime(at: now)
    return WaitingRequests(
      limits: metrics.map(\.waitingLimit), heldTime: held >= ActiveRequestTable.heldLimit ? held : nil,
      count: overdue.reduce(0) { $0 + $1.count },
      unstartedCount: overdue.reduce(0) { $0 + $1.unstartedCount },
      oldest: oldest.compactMap { listed in
        listed.record.snapshot(since: listed.start, at: now).map { (listed.start, $0) }
      })
  }

  /// Has the queue of all URLSessions watched by a probe.
  func watch(_ probe: QueueProbe) { self.probe.withLock { $0 = probe } }

  /// For how long that queue has not run what was put on it; 0 while it does, and if none is watched.
  func heldTime(at now: Instant = .now) -> Duration {
    probe.withLock { $0 }?.heldTime(at: now) ?? .zero
  }

  /// Reports what has waited for too long. Called by the drain.
  ///
  /// - Parameter isUsed: Whether requests have begun or ended since the last call.
  /// - Returns: When the next one is due.
  func reportWaits(isUsed: Bool, at now: Instant) -> Instant {
    var (earliest, isUsed) = (Instant.never, isUsed)
    for metrics in metrics {
      let (reports, next) = metrics.takeReports(at: now)
      earliest = min(earliest, next)
      for record in reports.soon.prefix(Self.reportLimit) { record.look {} }
      for listed in reports.requests {
        guard let request = listed.record.snapshot(since: listed.start, at: now) else { continue }
        for consumer in consumers { consumer.requestWaits(request) }
        isUsed = true
      }
    }
    return min(earliest, reportHeldQueue(isUsed: isUsed, at: now))
  }

  private func reportHeldQueue(isUsed: Bool, at now: Instant) -> Instant {
    guard let made = metrics.first, let limit = made.waitingLimit, let probe = probe.withLock({ $0 })
    else { return .never }
    let (held, next) = probe.turn(isUsed: isUsed, limit: min(limit, ActiveRequestTable.heldLimit), at: now)
    if let held {
      let count = made.waitingForStart?.count ?? 0
      for consumer in consumers { consumer.queueIsHeld(count, for: held) }
    }
    return next
  }

  /// How many requests were under way when the tap ended, 0 before.
  var unfinishedCount: Int { max(0, unfinished.load(ordering: .relaxed)) }

  /// Reports what is under way as the process ends: once.
  func reportUnfinished() {
    guard unfinished.load(ordering: .relaxed) < 0 else { return }
    let (requests, more) = requests(limit: Self.unfinishedLimit)
    let count = requests.count + more
    guard unfinished.compareExchange(expected: -1, desired: count, ordering: .relaxed).exchanged
    else { return }
    for consumer in consumers {
      for request in requests { consumer.requestIsUnfinished(request) }
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
  /// For how long the queue of all URLSessions has been held, `nil` unless it counts as held.
  package let heldTime: Duration?
  package let count: Int
  /// How many of them URLSession has not started: 0 unless the queue of all sessions counts as held.
  package let unstartedCount: Int
  /// The oldest ones, oldest first, and since when each waits.
  package let oldest: [(start: Instant, request: RequestSnapshot)]
}
