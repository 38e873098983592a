import Synchronization
package import TapCore

/// Records requests whose values a test makes up, by the way of every request.
package final class RequestDriver: Sendable {
  private struct Target: Hashable {
    let client: String
    let method: String
    let address: String?
    let port: Int?

    init(_ request: RequestDescription) {
      client = request.client
      method = request.method
      address = request.serverAddress
      port = request.serverPort
    }
  }

  /// A request whose end says all that is known of it.
  private final class Source: RequestSource {
    private let description: RequestDescription
    let observation = Mutex<RequestObservation?>(nil)

    init(_ description: RequestDescription) { self.description = description }

    func makeDescription() -> RequestDescription { description }

    func complete(_ observation: inout RequestObservation, start: Instant) {
      if let madeUp = self.observation.withLock({ $0 }) { observation = madeUp }
    }
  }

  package let recorder: RequestRecorder
  private let active = Mutex<[Target: [(RequestRecord, Source)]]>([:])

  package init(
    registry: Registry, configuration: RequestMetrics.Configuration = .init(),
    consumers: [any RequestConsumer] = []
  ) throws(RegistryError) {
    recorder = try RequestRecorder(
      registry: registry, outbound: configuration, inbound: configuration, consumers: consumers)
  }

  /// Begins a request.
  package func requestStarted(_ request: RequestDescription) {
    let source = Source(request)
    let begun = RequestRecord(source, recorder: recorder)
    begun.begin(at: .now, time: .now)
    active.withLock { $0[Target(request), default: []].append((begun, source)) }
  }

  /// Ends the oldest request for the same target, with these values.
  package func requestEnded(_ observation: RequestObservation) {
    let ended = active.withLock { active -> (RequestRecord, Source)? in
      let target = Target(observation.request)
      guard var begun = active.removeValue(forKey: target) else { return nil }
      let oldest = begun.removeFirst()
      // No key is kept for nothing: a test may have a hundred thousand.
      if !begun.isEmpty { active[target] = begun }
      return oldest
    }
    guard let (request, source) = ended else { return }
    source.observation.withLock { $0 = observation }
    request.end(observation.end)
  }
}
