import Synchronization
import TapCore
import TestSupport

@testable import TapURLSession

/// Keeps everything that a tap reports.
final class RecordingObserver: RequestConsumer {
  private struct State {
    var started: [RequestDescription] = []
    var ended: [RequestObservation] = []
    var waiting: [(isReached: @Sendable (State) -> Bool, gate: Gate)] = []
  }

  private let state = Mutex(State())

  var started: [RequestDescription] { state.withLock { $0.started } }
  var ended: [RequestObservation] { state.withLock { $0.ended } }

  func requestStarted(_ request: RequestDescription) { note { $0.started.append(request) } }

  func requestEnded(_ observation: RequestObservation) { note { $0.ended.append(observation) } }

  private func note(_ change: (inout State) -> Void) {
    let reached = state.withLock { state in
      change(&state)
      let snapshot = state
      state.waiting.removeAll { $0.isReached(snapshot) }
      return snapshot.waiting.filter { $0.isReached(snapshot) }
    }
    for (_, gate) in reached { gate.open() }
  }

  /// Waits until this many requests have started.
  func waitForStarts(_ count: Int) async throws {
    try await wait("start number \(count)") { $0.started.count >= count }
  }

  /// Waits until this many requests have ended.
  func waitForEnds(_ count: Int) async throws {
    try await wait("end number \(count)") { $0.ended.count >= count }
  }

  private func wait(_ what: String, until isReached: @escaping @Sendable (State) -> Bool) async throws {
    let gate = Gate()
    state.withLock { state in
      if isReached(state) { gate.open() } else { state.waiting.append((isReached, gate)) }
    }
    try await gate.wait(what)
  }
}

extension URLSessionTap {
  /// A tap of its own recorder.
  convenience init(
    observers: [any RequestConsumer], options: RequestOptions = RequestOptions(),
    configuration: Configuration = Configuration()
  ) {
    self.init(recorder: Self.recorder(observers, options), configuration: configuration)
  }

  private static func recorder(
    _ consumers: [any RequestConsumer], _ options: RequestOptions
  ) -> RequestRecorder {
    // The registry is new and the metrics are the default ones: the first is made.
    while true {
      let recorder = try? RequestRecorder(registry: Registry(), outbound: options, consumers: consumers)
      if let recorder { return recorder }
    }
  }

  func flush() { recorder.drain() }

  var requestCount: Int { recorder.requestCount }
}
