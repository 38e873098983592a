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
/// at most 2% or 1 ms late, and a task that nobody ever answers costs next to nothing.
enum ChallengedTaskWatch {
  private static let queue = DispatchQueue(label: "session-tap.challenged-tasks", qos: .utility)
  private static let shortestPause = Duration.milliseconds(1)
  private static let pauseFraction = 50

  /// Watches until the task has ended or is gone. The task is not kept alive.
  static func begin(task: URLSessionTask, request: TappedRequest) {
    look(at: task, of: request, since: .now)
  }

  private static func look(
    at task: URLSessionTask?, of request: TappedRequest, since start: ContinuousClock.Instant
  ) {
    guard request.isLoading else { return }
    guard let task else {
      request.end(.cancelled)
      return
    }
    switch task.state {
    case .canceling:
      request.end(.cancelled)
    case .completed:
      if let error = task.error {
        request.failed(error)
      } else {
        request.end(task.response, task: task)
      }
    case .running, .suspended:
      fallthrough
    @unknown default:
      let pause = max(shortestPause, start.duration(to: .now) / pauseFraction)
      queue.asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak task] in
        look(at: task, of: request, since: start)
      }
    }
  }
}
