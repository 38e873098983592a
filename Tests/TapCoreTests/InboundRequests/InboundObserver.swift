import Synchronization
import TapCore

/// Keeps every request that it hears of.
final class InboundObserver: InboundRequestObserver {
  private let state = Mutex<[InboundObservation]>([])

  var ended: [InboundObservation] { state.withLock { $0 } }

  func inboundRequestEnded(_ observation: InboundObservation) {
    state.withLock { $0.append(observation) }
  }
}
