import Dispatch
import TapCore
import TapFoundation

/// Learns of the end of a task whose server asked for credentials.
///
/// Once a challenge is answered, Foundation serves the task with a new native loader that has no client of
/// ours: `state`, `error` and `response` of the task are all that shows its end. They are read again after a
/// fiftieth of the time that has passed, so the measured duration is at most 2% or 1 ms late. A task whose
/// challenge is not answered is reported once. From Swift 6.3.2 on a task without a credential ends by
/// itself, with the 401; before, it never ends.
enum ChallengedTaskWatch {
  private static let queue = DispatchQueue(label: "session-tap.challenged-tasks", qos: .utility)
  private static let shortestPause = Duration.milliseconds(1)
  private static let pauseFraction = 50

  /// Watches until the task has ended. The task is kept until it has been looked at for the last time, or its
  /// end would be lost with it; while it runs, its session keeps it anyway. A tap reports the wait when its limit has passed.
  static func begin(
    _ task: URLSessionTask, of relay: ClientRelay,
    _ unreported: [TapContext.Request], since start: Instant = .now
  ) {
    guard relay.isActive else {
      relay.leave(at: .now)
      return
    }
    switch task.state {
    case .canceling, .completed: relay.ended(task)
    default:
      let waited = start.duration(to: .now)
      let isDue = { (tap: URLSessionTap) in tap.configuration.waitingLimit.map { waited >= $0 } ?? false }
      for request in unreported where isDue(request.tap) {
        request.tap.configuration.reportWaiting?(request.record.description, waited)
      }
      let rest = unreported.filter { !isDue($0.tap) }
      let pause = max(shortestPause, waited / pauseFraction)
      queue.asyncAfter(deadline: .now() + pause / .seconds(1)) {
        begin(task, of: relay, rest, since: start)
      }
    }
  }
}
