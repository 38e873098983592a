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
/// at most 2% or 1 ms late, and a task whose challenge is never answered costs next to nothing. Such a task is reported
/// once.
enum ChallengedTaskWatch {
  private static let queue = DispatchQueue(label: "session-tap.challenged-tasks", qos: .utility)
  private static let shortestPause = Duration.milliseconds(1)
  private static let pauseFraction = 50

  /// Watches until the task has ended. The task is kept until it has been looked at for the last time, or its
  /// end would be lost with it; while it runs, its session keeps it anyway.
  ///
  /// - Parameter limit: After how long the request is reported.
  static func begin(
    task: URLSessionTask, transfer: Transfer, request: RequestRecord, reportsAfter limit: Duration?
  ) {
    look(at: task, transfer, of: request, since: .now, reportsAfter: limit)
  }

  private static func look(
    at task: URLSessionTask, _ transfer: Transfer, of request: RequestRecord,
    since start: ContinuousClock.Instant, reportsAfter limit: Duration?
  ) {
    guard request.isActive else { return transfer.leave(at: .now) }
    switch task.state {
    case .canceling:
      transfer.leave(at: .now)
      request.end(.cancelled)
    case .completed:
      transfer.leave(at: .now)
      end(request, transfer, as: task)
    case .running, .suspended:
      fallthrough
    @unknown default:
      let waited = start.duration(to: .now)
      let isDue = limit.map { waited >= $0 } ?? false
      if isDue { request.waits(for: waited) }
      let pause = max(shortestPause, waited / pauseFraction)
      queue.asyncAfter(deadline: .now() + pause / .seconds(1)) {
        look(at: task, transfer, of: request, since: start, reportsAfter: isDue ? nil : limit)
      }
    }
  }

  private static func end(_ request: RequestRecord, _ transfer: Transfer, as task: URLSessionTask) {
    if let error = task.error { return request.end(RequestEnd(error, statusCode: nil)) }
    let response = task.response as? HTTPURLResponse
    transfer.settle(
      .headers(
        requestBodySize: BodySizes.sent(by: task, method: transfer.method, account: nil),
        responseBodySize: BodySizes.received(method: transfer.method, response: response, loadedBytes: nil),
        transfer.keepsHeaders ? response?.headers ?? [:] : [:]))
    request.end(.response(statusCode: response?.statusCode))
  }
}
