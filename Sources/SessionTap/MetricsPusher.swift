import Foundation
public import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Pushes the metrics of a registry to a Pushgateway: for jobs that are too short to be scraped.
///
///     let gateway = try PushGateway("http://gateway:9091", job: "backup", grouping: ["instance": "db-1"])
///     try await MetricsPusher(registry: registry, to: gateway).push()
///
/// Each push replaces what the group had before. The gateway keeps the metrics, and Prometheus scrapes
/// them, until they are deleted: push from jobs, not from servers. A push is a request of a URLSession of its own, which
/// no tap observes.
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
  ///   - gateway: the gateway, and the group whose metrics these replace.
  ///   - retry: how often a push that failed for a transient reason is tried again.
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

  /// Pushes the current metrics. A transient failure is tried again, as ``PushRetry`` says; each try sends the metrics
  /// of its time.
  ///
  /// - Throws: ``PushError`` of the last try.
  public func push() async throws(PushError) { try await push(until: .never) }

  /// - Parameter end: When the last try has to be over.
  private func push(until end: Instant) async throws(PushError) {
    for attempt in 1... {
      do throws(PushError) {
        try await pushOnce(within: min(retry.deadline, Instant.now.duration(to: end)))
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
  /// last values. A push that fails is counted, and the next one is made in its time. One that is under way at the cancel is given
  /// up.
  ///
  /// - Parameters:
  ///   - interval: from the end of one push to the begin of the next: 10 ms to 292 years, or the nearer of these.
  ///   - limit: how long the last push may take with all its tries, so that a gateway that is gone does not delay the end of the app.
  ///   - onError: called for each push that failed.
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

  private func pushOnce(within time: Duration) async throws(PushError) {
    let exposition = registry.exposition(in: .text)
    var request = URLRequest(url: gateway.url)
    request.httpMethod = "PUT"
    request.setValue(exposition.contentType, forHTTPHeaderField: "Content-Type")
    request.setValue(gateway.authorization, forHTTPHeaderField: "Authorization")
    let answer = await PushExchange().send(request, body: Data(exposition.bytes), within: time)
    switch answer {
    case .status(200...299, _):
      return
    case .status(let status, let reason):
      // RFC 9110, sections 15.5.9, 15.6 and RFC 6585, section 4: these may be transient.
      throw PushError(
        .refused, "\(gateway.authority) answers \(status): \(reason)",
        isTransient: status >= 500 || status == 408 || status == 429)
    case .failure(let reason):
      throw PushError(.unreachable, "cannot push to \(gateway.authority): \(reason)", isTransient: true)
    case .late:
      throw PushError(.unreachable, "\(gateway.authority) does not answer in time", isTransient: true)
    }
  }

  private struct OutcomeLabels: LabelSet {
    let outcome: String

    static var labels: [Label<OutcomeLabels>] { [Label("outcome", \.outcome)] }
  }
}

extension Tap {
  /// Pushes the metrics as they are now to a Pushgateway: what a job does that is too short to be scraped, at its end.
  /// To push at intervals, see ``MetricsPusher``.
  ///
  /// - Parameters:
  ///   - gateway: The gateway, and the group whose metrics these replace.
  ///   - retry: How often a push that may yet succeed is tried.
  /// - Throws: ``TapError`` if the gateway did not take them, after the last try.
  public func push(to gateway: PushGateway, retry: PushRetry = PushRetry()) async throws(TapError) {
    do {
      try await MetricsPusher(registry: registry, to: gateway, retry: retry).push()
    } catch {
      throw TapError(error)
    }
  }
}

/// How often a push is tried, and how long is waited in between. A value out of its range is replaced by the
/// nearest one in it.
public struct PushRetry: Sendable, Hashable {
  /// The number of tries, including the first: at least 1. 5.
  public var attempts = 5
  /// The delay after the first try, from 0; it doubles with each further one. 0.5 s.
  public var firstDelay = Duration.milliseconds(500)
  /// The maximum of the delay: 0 to a day. 30 s.
  public var maximumDelay = Duration.seconds(30)
  /// How long one try may take, whatever the gateway sends, up to a day; without any time, it fails. 10 s.
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
