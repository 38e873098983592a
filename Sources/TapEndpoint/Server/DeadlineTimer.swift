import Dispatch
import TapCore

/// One timer for the deadlines of all connections. Most deadlines are moved before they pass, so it is not
/// set again with each of them: it fires at the earliest that it was given, and is then given the next.
final class DeadlineTimer {
  /// A deadline is noticed at most this much late. It bounds how often all connections are visited.
  private static let granularity = Duration.milliseconds(20)

  private let source: any DispatchSourceTimer
  private var scheduled: ContinuousClock.Instant?

  /// The callback runs on the queue, and schedules the next deadline.
  init(queue: DispatchQueue, onDeadline: @escaping () -> Void) {
    source = DispatchSource.makeTimerSource(queue: queue)
    source.setEventHandler { [weak self] in
      self?.scheduled = nil
      onDeadline()
    }
    source.activate()
  }

  deinit {
    source.cancel()
  }

  /// Fires at the deadline, or somewhat later, unless it fires earlier anyway.
  func schedule(_ deadline: ContinuousClock.Instant) {
    if let scheduled, scheduled <= deadline { return }
    scheduled = deadline
    let delay = max(ContinuousClock.now.duration(to: deadline), .zero) + Self.granularity
    source.schedule(
      deadline: .now() + .nanoseconds(Int(clamping: delay.nanoseconds)), leeway: .milliseconds(5))
  }
}
