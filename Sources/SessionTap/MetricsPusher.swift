public import TapCore

/// Pushes the metrics of a registry to a Pushgateway, for jobs that are too short to be scraped.
///
///     let gateway = try PushGateway("http://gateway:9091", job: "backup", grouping: ["instance": "db-1"])
///     try await MetricsPusher(registry: registry, to: gateway).push()
///
/// Each push replaces what the group had before. The gateway keeps the metrics, and Prometheus scrapes them,
/// until they are deleted: push from jobs, not from servers. Pushes use a URLSession of their own, which no
/// tap observes.
public final class MetricsPusher: Sendable {
  /// The longest time for one try.
  private static let tryLimit = Duration.seconds(10)

  private let registry: Registry
  private let gateway: PushGateway
  private let pushes: Registry.Counter
  private let failures: Registry.Counter
  private let tryLimit: Duration
  private let sleep: @Sendable (Duration) async throws -> Void

  /// Makes a pusher. It counts itself in the registry, as `session_tap_pushes_total{outcome}`.
  ///
  /// - Parameters:
  ///   - registry: the metrics, all of which are pushed.
  ///   - gateway: the gateway, and the group whose metrics are replaced.
  /// - Throws: `RegistryError` if that name is taken by something else.
  public convenience init(registry: Registry, to gateway: PushGateway) throws(RegistryError) {
    try self.init(registry: registry, to: gateway) { try await Task.sleep(for: $0) }
  }

  package init(
    registry: Registry, to gateway: PushGateway, tryLimit: Duration = tryLimit,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) throws(RegistryError) {
    self.registry = registry
    self.gateway = gateway
    self.tryLimit = tryLimit
    self.sleep = sleep
    let outcomes = try registry.counter(
      "session_tap_pushes_total", help: "Pushes to a Pushgateway, each with its retries.",
      by: OutcomeLabels.self)
    pushes = outcomes[OutcomeLabels(outcome: "ok")]
    failures = outcomes[OutcomeLabels(outcome: "error")]
  }

  /// Pushes the current metrics. After a transient failure it tries again, with pauses that grow from half a
  /// second to 30 s; each try sends the metrics of its time, and takes at most 10 s.
  ///
  /// - Parameter limit: the longest time for all tries. With 0 or less the push fails.
  /// - Throws: The ``PushError`` of the last try.
  public func push(within limit: Duration = .seconds(60)) async throws(PushError) {
    let end = Instant.now.advanced(by: limit)
    for attempt in 1... {
      do throws(PushError) {
        let time = min(tryLimit, Instant.now.duration(to: end))
        try await PushExchange(with: gateway).put(registry.exposition(in: .text), within: time)
        pushes.increment()
        return
      } catch {
        let delay = Self.delay(after: attempt, jitter: .random(in: 0...1))
        guard error.isTransient, Instant.now.advanced(by: delay) < end, (try? await sleep(delay)) != nil
        else {
          failures.increment()
          throw error
        }
      }
    }
  }

  /// The delay after a try, which is counted from 1. The jitter, 0 to 1, shortens it by up to half, so that the tries of many jobs
  /// spread after a failure of their gateway.
  static func delay(after attempt: Int, jitter: Double) -> Duration {
    min(.milliseconds(500) * (1 << min(attempt - 1, 6)), .seconds(30)) * (1 - jitter / 2)
  }

  /// Pushes at intervals until the current task is cancelled, and then once more, so that the gateway has the
  /// last values. A failed push is counted, and the next one follows after the interval. The cancellation
  /// abandons a push that is under way.
  ///
  /// - Parameters:
  ///   - interval: the delay from the end of one push to the start of the next, clamped to 10 ms to 292
  ///     years. A push is given up after so long, but not before 10 s.
  ///   - limit: the longest time for the last push with all its tries, so that a missing gateway does not
  ///     delay the end of the app.
  ///   - onError: called for each failed push.
  public func run(
    every interval: Duration, lastWithin limit: Duration = .seconds(5),
    onError: @escaping @Sendable (PushError) -> Void = { _ in }
  ) async {
    let push: @Sendable (Duration) async -> Void = { limit in
      do throws(PushError) { try await self.push(within: limit) } catch { onError(error) }
    }
    let interval = Duration.nanoseconds(max(interval, .milliseconds(10)).nanoseconds)
    while (try? await sleep(interval)) != nil { await push(max(interval, tryLimit)) }
    // A task of its own, which is not cancelled: it may wait for the network, and between tries.
    await Task.detached { await push(limit) }.value
  }

  private struct OutcomeLabels: LabelSet {
    let outcome: String

    static var labels: [Label<OutcomeLabels>] { [Label("outcome", \.outcome)] }
  }
}

extension Tap {
  /// Pushes the current metrics to a Pushgateway. A job that is too short to be scraped calls this at its
  /// end. To push at intervals, see ``MetricsPusher``.
  ///
  /// - Parameters:
  ///   - gateway: The gateway, and the group whose metrics are replaced.
  ///   - limit: The longest time, with all tries (``MetricsPusher/push(within:)``).
  /// - Throws: ``TapError`` if the gateway has not accepted them by then.
  public func push(to gateway: PushGateway, within limit: Duration = .seconds(60)) async throws(TapError) {
    do {
      try await MetricsPusher(registry: registry, to: gateway).push(within: limit)
    } catch {
      throw TapError(error)
    }
  }
}
