import Dispatch
import TapCore
import TapFoundation

/// Learns of the end of a task whose server asked for credentials.
///
/// Once a challenge is answered, Foundation serves the task with a new native loader that has no client of
/// ours: `state`, `error` and `response` of the task are all that shows its end. They are read again after a
/// fiftieth of the time that has passed, so the measured duration is at most 2% or 1 ms late. From Swift
/// 6.3.2 on a task without a credential ends by itself, with the 401; before, it never ends.
enum ChallengedTaskWatch {
  private static let queue = DispatchQueue(label: "session-tap.challenged-tasks", qos: .utility)
  private static let shortestPause = Duration.milliseconds(1)
  private static let pauseFraction = 50

  /// Watches until the task has ended. The task is kept until it has been looked at for the last time, or its
  /// end would be lost with it; while it runs, its session keeps it anyway.
  static func begin(_ task: URLSessionTask, of relay: ClientRelay, since start: Instant = .now) {
    guard relay.isActive else {
      relay.leave(at: .now)
      return
    }
    switch task.state {
    case .canceling, .completed: relay.ended(task)
    default:
      let waited = start.duration(to: .now)
      let pause = max(shortestPause, waited / pauseFraction)
      queue.asyncAfter(deadline: .now() + pause / .seconds(1)) {
        begin(task, of: relay, since: start)
      }
    }
  }
}
