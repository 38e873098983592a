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

  package let recorder: RequestRecorder
  private let active = Mutex<[Target: [RequestRecord]]>([:])

  package init(
    registry: Registry, configuration: RequestConfiguration = .init(), consumers: [any RequestConsumer] = []
  ) throws(RegistryError) {
    recorder = try RequestRecorder(
      registry: registry, outbound: configuration, inbound: configuration, consumers: consumers)
  }

  /// Begins a request.
  package func requestStarted(_ request: RequestDescription) {
    let begun = RequestRecord(request, recorder: recorder)
    begun.begin()
    active.withLock { $0[Target(request), default: []].append(begun) }
  }

  /// Ends the oldest request for the same target, with these values.
  package func requestEnded(_ observation: RequestObservation) {
    let oldest = active.withLock { active -> RequestRecord? in
      let target = Target(observation.request)
      guard var begun = active.removeValue(forKey: target) else { return nil }
      let oldest = begun.removeFirst()
      // No key is kept for nothing: a test may have a hundred thousand.
      if !begun.isEmpty { active[target] = begun }
      return oldest
    }
    oldest?.end(observation.end) { $0 = observation }
  }
}
