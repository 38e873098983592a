import Synchronization
import TapCore
import TestSupport

@testable import TapURLSession

/// Keeps everything that a tap reports.
final class RecordingObserver: RequestConsumer {
  private struct State {
    var started: [RequestDescription] = []
    var ended: [RequestObservation] = []
    var waits = 0
    var waiting: [(count: Int, gate: Gate)] = []
  }

  private let state = Mutex(State())

  var started: [RequestDescription] { state.withLock { $0.started } }
  var ended: [RequestObservation] { state.withLock { $0.ended } }
  /// How many requests were reported to wait.
  var waits: Int { state.withLock { $0.waits } }
  /// One was.
  let waited = Gate()

  func requestStarted(_ request: RequestDescription) {
    state.withLock { $0.started.append(request) }
  }

  func requestEnded(_ observation: RequestObservation) {
    let reached = state.withLock { state in
      state.ended.append(observation)
      let count = state.ended.count
      defer { state.waiting.removeAll { $0.count <= count } }
      return state.waiting.filter { $0.count <= count }
    }
    for (_, gate) in reached { gate.open() }
  }

  func requestWaits(_ request: RequestDescription, for duration: Duration) {
    state.withLock { $0.waits += 1 }
    waited.open()
  }

  /// Waits until this many requests have ended.
  func waitForEnds(_ count: Int) async throws {
    let gate = Gate()
    let isReached = state.withLock { state in
      if state.ended.count < count { state.waiting.append((count, gate)) }
      return state.ended.count >= count
    }
    if !isReached { try await gate.wait("end number \(count)") }
  }
}

extension URLSessionTap {
  /// A tap of its own recorder, without metrics.
  convenience init(observers: [any RequestConsumer], configuration: Configuration = Configuration()) {
    self.init(recorder: RequestRecorder(consumers: observers), configuration: configuration)
  }

  func flush() { recorder.drain() }

  var requestCount: Int { recorder.requestCount }
}
