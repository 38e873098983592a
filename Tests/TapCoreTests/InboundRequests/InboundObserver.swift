import Synchronization
import TapCore
import TestSupport

/// Keeps every request that it hears of.
final class InboundObserver: InboundRequestObserver {
  /// Opened by the first.
  let heard = Gate()
  private let state = Mutex<[InboundObservation]>([])

  var ended: [InboundObservation] { state.withLock { $0 } }

  func inboundRequestEnded(_ observation: InboundObservation) {
    state.withLock { $0.append(observation) }
    heard.open()
  }
}
