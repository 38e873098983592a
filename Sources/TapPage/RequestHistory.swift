import Synchronization
package import TapCore

/// Keeps what the requests of the last ten minutes came to, so that the page does not open with empty charts.
///
/// It is given each request that has ended, off the path of the requests (``RequestRecorder/drain()``): it needs no thread, no timer
/// and no look at the registry, and makes no series. A request costs it the look-up of its party.
package final class RequestHistory: RequestConsumer {
  private struct State {
    var window: HistoryWindow
    /// The last answer, and when it was written.
    var written: (bytes: [UInt8], at: Instant)?
  }

  private let state: Mutex<State>

  package init(outbound: RequestConfiguration, inbound: RequestConfiguration) {
    let window = HistoryWindow(
      outbound: outbound.durationBuckets, inbound: inbound.durationBuckets, start: .now)
    state = Mutex(State(window: window))
  }

  package func requestStarted(_ request: RequestDescription) {}

  package func requestEnded(_ observation: RequestObservation) {
    let party = party(of: observation.request)
    // A 4xx that the app answers with is no error of its own, and has no error type.
    let refusal = observation.statusCode.flatMap { (400..<500).contains($0) ? String($0) : nil }
    let failure = observation.errorType ?? refusal
    state.withLock { state in
      let place = state.window.add(party, nanoseconds: observation.elapsed, failure: failure, at: .now)
      state.window.keep(observation, failure: failure, at: place)
    }
  }

  /// The history as JSON. Those that ask within a second share it, so that readers who are slow or many take little memory.
  package func json(at now: Instant = .now) -> [UInt8] {
    let (window, written) = state.withLock { ($0.window, $0.written) }
    if let written, now.nanoseconds &- written.at.nanoseconds < 1_000_000_000 { return written.bytes }
    // No lock is held while a copy is written.
    let bytes = window.json(at: now)
    state.withLock { $0.written = (bytes, now) }
    return bytes
  }

  /// By the same labels as the metrics have, cut likewise.
  private func party(of request: borrowing RequestDescription) -> HistoryWindow.Party {
    var party = HistoryWindow.Party(
      direction: request.direction, method: request.methodLabel, template: request.urlTemplate?.asLabel)
    if request.direction == .outbound {
      party.client = request.client.asLabel
      (party.address, party.port) = (request.serverAddress?.asLabel, request.serverPort)
    }
    return party
  }
}
