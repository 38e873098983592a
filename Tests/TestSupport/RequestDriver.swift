/// Records requests whose values a test makes up, by the way of every request.
package final class RequestDriver: Sendable {
  private struct Target: Hashable {
    let client: String, method: String, address: String?, port: Int?

    init(_ request: RequestDescription) {
      (client, method) = (request.client, request.method)
      (address, port) = (request.serverAddress, request.serverPort)
    }
  }

  package let recorder: RequestRecorder
  private let active = Mutex<[Target: [RequestRecord]]>([:])

  package init(
    registry: Registry, consumers: [any RequestConsumer] = [], keepsHistory: Bool = false,
    _ change: (inout RequestConfiguration) -> Void = { _ in }
  ) throws(RegistryError) {
    let configuration = with(RequestConfiguration(), change)
    recorder = try RequestRecorder(
      registry: registry, outbound: configuration, inbound: configuration, consumers: consumers,
      keepsHistory: keepsHistory)
  }

  /// A whole request, which took 20 ms.
  package func record(
    _ request: RequestDescription, _ end: RequestEnd = .response(statusCode: 200),
    _ change: (inout RequestObservation) -> Void = { _ in }
  ) {
    requestStarted(request)
    let observation = RequestObservation(request: request, start: .now, duration: .milliseconds(20), end: end)
    requestEnded(with(observation, change))
  }

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
