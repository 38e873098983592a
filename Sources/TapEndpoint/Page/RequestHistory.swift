import Dispatch
import Synchronization
package import TapCore

/// Keeps what the requests of the last ten minutes came to, so that the page does not open with empty charts.
///
/// It is given each request that has ended, off the path of the requests (``RequestRecorder/drain()``): it needs no thread, no timer
/// and no look at the registry, and makes no series. A request costs it the look-up of its party.
package final class RequestHistory: RequestConsumer {
  private struct State {
    var window: HistoryWindow
    /// Of the batch that is being delivered: one look at the clock for all of it.
    var now: Instant?
  }

  private let methods: KnownMethods
  private let state: Mutex<State>

  /// - Parameters:
  ///   - outbound: the buckets of the durations of requests that the app makes.
  ///   - inbound: the same of those that it serves, and the methods that appear as themselves.
  package init(outbound: RequestMetrics.Configuration, inbound: RequestMetrics.Configuration) {
    methods = KnownMethods(inbound.knownMethods)
    let window = HistoryWindow(
      outbound: outbound.durationBuckets, inbound: inbound.durationBuckets, start: .now)
    state = Mutex(State(window: window))
  }

  package func requestStarted(_ request: RequestDescription) {}

  package func requestEnded(_ observation: RequestObservation) {
    let party = party(of: observation.request)
    let isError =
      switch observation.outcome {
      case .httpError, .error: true
      case .ok, .cancelled: false
      }
    state.withLock { state in
      let now = state.now ?? .now
      state.now = now
      state.window.add(party, nanoseconds: observation.elapsed, isError: isError, at: now)
    }
  }

  package func batchEnded() {
    state.withLock { $0.now = nil }
  }

  /// The history as JSON.
  package func json(at now: Instant = .now) -> [UInt8] {
    // A copy, so that no lock is held while bytes are written.
    let window = state.withLock { $0.window }
    return window.json(at: now)
  }

  /// By the same labels as the metrics have, cut likewise.
  private func party(of request: borrowing RequestDescription) -> HistoryWindow.Party {
    switch request.direction {
    case .outbound:
      .outbound(
        client: request.client.asLabel, address: request.serverAddress?.asLabel, port: request.serverPort)
    case .inbound:
      .inbound(method: methods.label(of: request.method), route: request.urlTemplate?.asLabel)
    }
  }
}

extension EndpointRoute {
  /// What the page's charts show before its first scrape.
  ///
  /// - Parameters:
  ///   - history: what is shown.
  ///   - drain: records what has happened before.
  package static func history(
    of history: RequestHistory, at path: String = "/page/history", drain: @escaping @Sendable () -> Void
  ) -> EndpointRoute {
    // Not on the queue that serves every connection: a full window takes a millisecond to write.
    let queue = DispatchQueue(label: "session-tap.history", qos: .utility)
    return EndpointRoute(
      path,
      deferred: { _, complete in
        queue.async {
          drain()
          complete(
            EndpointResponse(
              headers: [
                "Content-Type": "application/json", "Cache-Control": "no-store",
                "X-Content-Type-Options": "nosniff",
              ], body: .bytes(history.json()))
          ) { _ in }
        }
      })
  }
}
