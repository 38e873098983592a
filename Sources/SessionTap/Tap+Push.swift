import TapCore

extension Tap {
  /// Pushes the current metrics to a Pushgateway, for a job that is too short to be scraped, at its end.
  ///
  /// A push replaces what the group had before. The gateway keeps the metrics, and Prometheus scrapes them,
  /// until they are deleted: push from jobs, not from servers. After a transient failure it tries again, with
  /// pauses that grow from half a second to 30 s; each try sends the metrics of its time, and takes at most
  /// 10 s. No tap observes pushes. `session_tap_pushes_total{outcome}` counts them.
  ///
  /// - Parameters:
  ///   - gateway: The gateway, and the group whose metrics are replaced.
  ///   - limit: The longest time for all tries. With 0 or less the push fails.
  /// - Throws: ``TapError`` with the cause of the last try's failure.
  public func push(to gateway: PushGateway, within limit: Duration = .seconds(60)) async throws(TapError) {
    let pusher: MetricsPusher
    do { pusher = try MetricsPusher(registry: registry, to: gateway) } catch { throw TapError(error) }
    try await pusher.push(within: limit)
  }
}

package struct MetricsPusher: Sendable {
  private let registry: Registry
  private let gateway: PushGateway
  private let succeeded: Registry.Counter
  private let failed: Registry.Counter
  private let tryLimit: Duration
  private let sleep: @Sendable (Duration) async throws -> Void

  package init(
    registry: Registry, to gateway: PushGateway, tryLimit: Duration = .seconds(10),
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) throws(RegistryError) {
    (self.registry, self.gateway, self.tryLimit, self.sleep) = (registry, gateway, tryLimit, sleep)
    func counter(_ outcome: String) throws(RegistryError) -> Registry.Counter {
      try registry.counter(
        "session_tap_pushes_total", help: "Pushes to a Pushgateway, each with its retries.",
        labels: ["outcome": outcome])
    }
    // Both are there from the first push on.
    (succeeded, failed) = (try counter("ok"), try counter("error"))
  }

  package func push(within limit: Duration = .seconds(60)) async throws(TapError) {
    let end = Instant.now.advanced(by: limit)
    for attempt in 1... {
      do throws(PushFailure) {
        let time = min(tryLimit, Instant.now.duration(to: end))
        try await PushExchange(with: gateway).put(registry.exposition(in: .text), within: time)
        succeeded.increment()
        return
      } catch {
        let delay = Self.delay(after: attempt, jitter: .random(in: 0...1))
        guard error.isTransient, Instant.now.advanced(by: delay) < end, (try? await sleep(delay)) != nil
        else {
          failed.increment()
          throw TapError(.push, error.reason)
        }
      }
    }
  }

  /// The delay after a try, which is counted from 1. The jitter, 0 to 1, shortens it by up to half, so that
  /// the tries of many jobs spread after a failure of their gateway.
  static func delay(after attempt: Int, jitter: Double) -> Duration {
    min(.milliseconds(500) * (1 << min(attempt - 1, 6)), .seconds(30)) * (1 - jitter / 2)
  }
}
