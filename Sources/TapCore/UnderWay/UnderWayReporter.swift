import Synchronization

/// Reports to the consumers what is under way: while it waits, and at the end of the process.
final class UnderWayReporter: Sendable {
  private let metrics: [RequestMetrics]
  private let consumers: [any RequestConsumer]
  private let unfinished = Atomic(-1)

  /// The most requests that are reported as unfinished, each by itself.
  static let unfinishedLimit = 1_000

  init(_ metrics: [RequestMetrics], _ consumers: [any RequestConsumer]) {
    (self.metrics, self.consumers) = (metrics, consumers)
  }

  /// The requests that wait for at least so long, oldest first.
  func requests(olderThan age: Duration, at now: Instant = .now) -> [RequestUnderWay] {
    let instant = Instant(nanoseconds: now.nanoseconds - max(0, age.nanoseconds))
    return metrics.flatMap { $0.underWay(since: instant) }.sorted { $0.start < $1.start }
      .compactMap { $0.record.underWay(since: $0.start, at: now) }
  }

  /// Reports what has waited for too long. Called by the drain.
  ///
  /// - Returns: When the next one is due.
  func reportWaits(at now: Instant) -> Instant {
    var earliest = Instant.never
    for metrics in metrics {
      let (reports, next) = metrics.takeReports(at: now)
      earliest = min(earliest, next)
      for listed in reports.requests {
        guard let request = listed.record.underWay(since: listed.start, at: now) else { continue }
        for consumer in consumers { consumer.requestWaits(request) }
      }
      guard let (count, oldest) = reports.unstarted else { continue }
      for consumer in consumers { consumer.queueIsHeld(count, for: oldest.duration(to: now)) }
    }
    return earliest
  }

  /// How many requests were under way when the tap ended, 0 before.
  var unfinishedCount: Int { max(0, unfinished.load(ordering: .relaxed)) }

  /// Reports what is under way as the process ends: once.
  func reportUnfinished(at now: Instant = .now) {
    let requests = requests(olderThan: .zero, at: now)
    guard unfinished.compareExchange(expected: -1, desired: requests.count, ordering: .relaxed).exchanged
    else { return }
    for consumer in consumers {
      for request in requests.prefix(Self.unfinishedLimit) { consumer.requestIsUnfinished(request) }
      if requests.count > Self.unfinishedLimit {
        consumer.requestsAreUnfinished(requests.count - Self.unfinishedLimit)
      }
      consumer.batchEnded()
    }
  }
}
