/// Keeps everything that a recorder tells of.
package final class RecordingObserver: RequestConsumer {
  private struct State {
    var started: [RequestDescription] = []
    var ended: [RequestObservation] = []
    var waits: [RequestSnapshot] = []
    var unfinished: [RequestSnapshot] = []
    var heldQueues: [(held: HeldQueue, unstarted: Int)] = []
  }

  private let state = Watched(State())

  package init() {}

  package var started: [RequestDescription] { state.state.started }
  package var ended: [RequestObservation] { state.state.ended }
  package var waits: [RequestSnapshot] { state.state.waits }
  package var unfinished: [RequestSnapshot] { state.state.unfinished }
  package var heldQueues: [(held: HeldQueue, unstarted: Int)] { state.state.heldQueues }

  package func requestStarted(_ request: RequestDescription) { state.change { $0.started.append(request) } }

  package func requestEnded(_ request: RequestObservation) { state.change { $0.ended.append(request) } }

  package func requestWaits(_ request: RequestSnapshot) { state.change { $0.waits.append(request) } }

  package func requestIsUnfinished(_ request: RequestSnapshot) {
    state.change { $0.unfinished.append(request) }
  }

  package func queueIsHeld(_ held: HeldQueue, unstarted: Int) {
    state.change { $0.heldQueues.append((held, unstarted)) }
  }

  package func waitForWaits(_ count: Int) async throws {
    try await state.wait("wait number \(count)") { $0.waits.count >= count }
  }

  package func waitForStarts(_ count: Int) async throws {
    try await state.wait("start number \(count)") { $0.started.count >= count }
  }

  /// The last request, once so many have ended.
  package func end(_ count: Int = 1) async throws -> RequestObservation {
    try await waitForEnds(count)
    return try #require(ended.last)
  }

  package func waitForEnds(_ count: Int) async throws {
    try await state.wait("end number \(count)") { $0.ended.count >= count }
  }
}
