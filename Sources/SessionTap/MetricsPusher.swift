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
  private let registry: Registry
  private let gateway: PushGateway
  private let retry: PushRetry
  private let pushes: Registry.Counter
  private let failures: Registry.Counter
  private let sleep: @Sendable (Duration) async throws -> Void

  /// Makes a pusher. It counts itself in the registry, as `session_tap_pushes_total{outcome}`.
  ///
  /// - Parameters:
  ///   - registry: the metrics, all of which are pushed.
  ///   - gateway: the gateway, and the group whose metrics are replaced.
  ///   - retry: how often a push is tried after a transient failure.
  /// - Throws: `RegistryError` if that name is taken by something else.
  public convenience init(
    registry: Registry, to gateway: PushGateway, retry: PushRetry = PushRetry()
  ) throws(RegistryError) {
    try self.init(registry: registry, to: gateway, retry: retry, sleep: { try await Task.sleep(for: $0) })
  }

  package init(
    registry: Registry, to gateway: PushGateway, retry: PushRetry,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) throws(RegistryError) {
    self.registry = registry
    self.gateway = gateway
    self.retry = retry
    self.sleep = sleep
    let outcomes = try registry.counter(
      "session_tap_pushes_total", help: "Pushes to a Pushgateway, each with its retries.",
      by: OutcomeLabels.self)
    pushes = outcomes[OutcomeLabels(outcome: "ok")]
    failures = outcomes[OutcomeLabels(outcome: "error")]
  }

  /// Pushes the current metrics. Retries after a transient failure, as ``PushRetry`` says; each try sends the
  /// metrics of its time.
  ///
  /// - Throws: The ``PushError`` of the last try.
  public func push() async throws(PushError) { try await push(until: .never) }

  private func push(until end: Instant) async throws(PushError) {
    for attempt in 1... {
      do throws(PushError) {
        let time = min(retry.deadline, Instant.now.duration(to: end))
        try await PushExchange(with: gateway).put(registry.exposition(in: .text), within: time)
        pushes.increment()
        return
      } catch {
        let delay = retry.delay(after: attempt, jitter: .random(in: 0...1))
        guard error.isTransient, attempt < retry.attempts, Instant.now.advanced(by: delay) < end,
          (try? await sleep(delay)) != nil
        else {
          failures.increment()
          throw error
        }
      }
    }
  }

  /// Pushes at intervals until the current task is cancelled, and then once more, so that the gateway has the
  /// last values. A failed push is counted, and the next one follows after the interval. The cancellation
  /// abandons a push that is under way.
  ///
  /// - Parameters:
  ///   - interval: the delay from the end of one push to the start of the next, clamped to 10 ms to 292
  ///     years.
  ///   - limit: the longest time for the last push with all its tries, so that a missing gateway does not
  ///     delay the end of the app.
  ///   - onError: called for each failed push.
  public func run(
    every interval: Duration, lastWithin limit: Duration = .seconds(5),
    onError: @escaping @Sendable (PushError) -> Void = { _ in }
  ) async {
    let push: @Sendable (Instant) async -> Void = { end in
      do throws(PushError) { try await self.push(until: end) } catch { onError(error) }
    }
    let interval = Duration.nanoseconds(max(interval, .milliseconds(10)).nanoseconds)
    while (try? await sleep(interval)) != nil { await push(.never) }
    // A task of its own, which is not cancelled: it may wait for the network, and between tries.
    await Task.detached { await push(.now.advanced(by: limit)) }.value
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
  ///   - retry: How often a push is tried after a transient failure.
  /// - Throws: ``TapError`` if the gateway has not accepted them after the last try.
  public func push(to gateway: PushGateway, retry: PushRetry = PushRetry()) async throws(TapError) {
    do {
      try await MetricsPusher(registry: registry, to: gateway, retry: retry).push()
    } catch {
      throw TapError(error)
    }
  }
}

/// How often a push is tried, and the delay between tries. Values are clamped to their ranges.
public struct PushRetry: Sendable, Hashable {
  /// The number of tries, including the first: at least 1. Default 5.
  public var attempts = 5
  /// The delay after the first try: at least 0. It doubles with each further try. Default 0.5 s.
  public var firstDelay = Duration.milliseconds(500)
  /// The maximum delay: 0 to a day. Default 30 s.
  public var maximumDelay = Duration.seconds(30)
  /// The longest time for one try, whatever the gateway sends: up to a day; with 0 every try fails. Default
  /// 10 s.
  public var deadline = Duration.seconds(10)

  /// Makes the default.
  public init() {}

  /// The delay after a try, which is counted from 1. The jitter, 0 to 1, shortens it by up to half, so that the tries of many jobs
  /// spread after a failure of their gateway.
  package func delay(after attempt: Int, jitter: Double) -> Duration {
    let maximum = min(max(maximumDelay, .zero), .seconds(86_400))
    var delay = min(max(firstDelay, .zero), maximum)
    for _ in 1..<min(max(attempt, 1), 64) where delay < maximum { delay = min(delay * 2, maximum) }
    return delay * (1 - min(max(jitter, 0), 1) / 2)
  }
}
