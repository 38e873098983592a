import SessionTap
import Synchronization

/// Counts requests for the summary line.
final class RequestTally: RequestObserver {
  /// The counts at one moment.
  struct Counts: Equatable {
    var active = 0
    var ended: [RequestOutcome: Int] = [:]
    var totalDuration = Duration.zero

    var total: Int { ended.values.reduce(0, +) }
  }

  private let state = Mutex(Counts())

  var counts: Counts { state.withLock { $0 } }

  func requestStarted(_ request: RequestDescription) {
    state.withLock { $0.active += 1 }
  }

  func requestEnded(_ observation: RequestObservation) {
    state.withLock {
      $0.active -= 1
      $0.ended[observation.outcome, default: 0] += 1
      $0.totalDuration += observation.duration
    }
  }
}
