import Dispatch
import Foundation
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Learns of the end of a task whose server asked for credentials.
///
/// Once a challenge is answered, Foundation serves the task with a new native loader that has no client of
/// ours, and says nothing when that one is done; `state`, `error` and `response` of the task are all that
/// shows it. They are read again after a fiftieth of the time that has passed, so the measured duration is
/// at most 2% or 1 ms late, and a task that nobody ever answers costs next to nothing. Such a task is reported
/// once.
enum ChallengedTaskWatch {
  private static let queue = DispatchQueue(label: "session-tap.challenged-tasks", qos: .utility)
  private static let shortestPause = Duration.milliseconds(1)
  private static let pauseFraction = 50

  /// Watches until the task has ended. The task is kept until it has been looked at for the last time, or its
  /// end would be lost with it; while it runs, its session keeps it anyway.
  static func begin(task: URLSessionTask, request: TappedRequest) {
    look(at: task, of: request, since: .now, reportsAfter: request.waitingLimit)
  }

  private static func look(
    at task: URLSessionTask, of request: TappedRequest, since start: ContinuousClock.Instant,
    reportsAfter limit: Duration?
  ) {
    guard request.isLoading else { return }
    switch task.state {
    case .canceling:
      request.end(.cancelled)
    case .completed:
      request.ended(task)
    case .running, .suspended:
      fallthrough
    @unknown default:
      let waited = start.duration(to: .now)
      let isDue = limit.map { waited >= $0 } ?? false
      if isDue { request.waits(for: waited) }
      let pause = max(shortestPause, waited / pauseFraction)
      queue.asyncAfter(deadline: .now() + pause / .seconds(1)) {
        look(at: task, of: request, since: start, reportsAfter: isDue ? nil : limit)
      }
    }
  }
}
