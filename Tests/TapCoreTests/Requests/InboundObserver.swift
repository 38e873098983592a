import Synchronization
import TapCore
import TestSupport

/// Keeps every request that has ended.
final class InboundObserver: RequestConsumer {
  /// Opened by the first.
  let heard = Gate()
  private let state = Mutex<[RequestObservation]>([])

  var ended: [RequestObservation] { state.withLock { $0 } }

  func requestEnded(_ observation: RequestObservation) {
    state.withLock { $0.append(observation) }
    heard.open()
  }
}
