import Dispatch
public import Foundation
import Synchronization
public import TapCore
public import TapEndpoint
public import TapLog
import TapURLSession

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Observes the URLSessions of an app: metrics for Prometheus over HTTP, and one log line per request.
///
/// ```swift
/// let tap = try Tap.start()
/// let session = URLSession(configuration: tap.configuration(client: "payments"))
/// // … http://localhost:9464/metrics tells how its requests go …
/// await tap.shutdown()
/// ```
///
/// A tap owns its registry, its log and its endpoint; several taps in one process share nothing. All members
/// may be used from any thread.
public final class Tap: Sendable {
  private enum Phase {
    case idle, running, stopped
  }

  /// The metrics of the requests, and those that the app adds.
  public let registry: Registry
  /// The request log, if there is one.
  public let log: RequestLog?
  /// Records the requests that the app itself serves, into the same metrics and the same log: for the middleware of its
  /// framework.
  public let inbound: InboundRequests

  private let sessions: URLSessionTap
  private let endpoint: Endpoint?
  private let deadline: Duration
  private let phase = Mutex(Phase.idle)

  /// Makes a tap: opens the log and registers the metrics. The endpoint does not listen before ``start()``.
  ///
  /// - Throws: ``TapError`` if the log cannot be opened or the metrics cannot be registered.
  public init(_ configuration: Configuration = Configuration()) throws(TapError) {
    registry = configuration.registry
    deadline = configuration.shutdownDeadline
    do {
      try registry.register(BuildInfo())
    } catch {
      throw TapError.registryInUse(error)
    }
    do {
      try registry.register(configuration.target)
      if configuration.exposesProcess { try registry.register(ProcessMetrics()) }
      let metrics = try RequestMetrics(registry: registry, configuration: configuration.metrics)
      log = try configuration.makeLog()
      if let log { try registry.register(log) }
      let logging: [any RequestObserver] = log.map { [$0] } ?? []
      sessions = URLSessionTap(
        observers: [metrics] + logging + configuration.observers, configuration: configuration.makeRequests())
      // What a scrape shows is what has happened by then.
      metrics.beforeGathering { [weak sessions] in sessions?.flush() }
      inbound = try InboundRequests(
        registry: registry, configuration: configuration.inbound,
        observers: (log.map { [$0] } ?? []) + configuration.inboundObservers)
      endpoint = try configuration.makeEndpoint(log: log)
    } catch {
      throw TapError(error)
    }
  }

  /// Makes a tap and starts it.
  ///
  /// - Throws: ``TapError`` if the log cannot be opened, the metrics cannot be registered, or the address of
  ///   the endpoint is not to be had (`address in use: 127.0.0.1:9464`).
  public static func start(_ configuration: Configuration = Configuration()) throws(TapError) -> Tap {
    let tap = try Tap(configuration)
    try tap.start()
    return tap
  }

  /// Begins to serve the metrics. A tap that has started stays so until its ``shutdown()``.
  ///
  /// - Throws: ``TapError`` if the address is not to be had, or the tap was started before.
  public func start() throws(TapError) {
    let isFirst = phase.withLock { phase in
      guard phase == .idle else { return false }
      phase = .running
      return true
    }
    guard isFirst else { throw TapError.startedBefore }
    do {
      sessions.exclude(ownPort: try endpoint?.start().port)
    } catch {
      phase.withLock { $0 = .idle }
      throw TapError(error)
    }
  }

  /// Where the metrics are served, with the actual port. `nil` before the start, after the shutdown, and
  /// without an endpoint.
  public var address: EndpointAddress? { endpoint?.address }

  /// A copy of a configuration whose sessions this tap observes. See
  /// ``/TapURLSession/URLSessionTap/configuration(from:client:)`` for what is kept and what is not.
  ///
  /// - Parameters:
  ///   - configuration: What to copy.
  ///   - client: The name for the `client` label and log field: what the session is for.
  public func configuration(
    from configuration: URLSessionConfiguration = .default, client: String
  ) -> URLSessionConfiguration {
    sessions.configuration(from: configuration, client: client)
  }

  /// A session that this tap observes, with the exact sizes and times that only a delegate is told. See
  /// ``/TapURLSession/URLSessionTap/session(configuration:client:delegate:delegateQueue:)``.
  ///
  /// - Parameters:
  ///   - configuration: What to copy.
  ///   - client: The name for the `client` label and log field.
  ///   - delegate: The session's delegate.
  ///   - delegateQueue: Where the delegate is called. `nil` makes a serial queue.
  public func session(
    configuration: URLSessionConfiguration = .default, client: String,
    delegate: (any URLSessionDelegate)? = nil, delegateQueue: OperationQueue? = nil
  ) -> URLSession {
    sessions.session(
      configuration: configuration, client: client, delegate: delegate, delegateQueue: delegateQueue)
  }

  /// Observes the requests that an existing session starts from now on, `URLSession.shared` included. See
  /// ``/TapURLSession/URLSessionTap/install(on:client:)`` for its limits.
  ///
  /// - Parameters:
  ///   - session: A session that is not in use yet, or whose tasks no other thread resumes meanwhile.
  ///   - client: The name for the `client` label and log field.
  /// - Returns: Whether the session is observed now.
  @discardableResult
  public func install(on session: URLSession, client: String) -> Bool {
    sessions.install(on: session, client: client)
  }

  /// Ends the observation of a session that ``install(on:client:)`` began.
  public func uninstall(from session: URLSession) {
    sessions.uninstall(from: session)
  }

  /// Writes a line of the app's own to the log, if there is one: one file tells the whole story.
  ///
  /// ```swift
  /// tap.log(.info, "cache warmed", ["entries": 42])
  /// ```
  ///
  /// See ``/TapLog/RequestLog/log(_:_:_:)`` for the fields and the limits.
  public func log(_ severity: LogSeverity, _ message: String, _ fields: [String: FieldValue] = [:]) {
    log?.log(severity, message, fields)
  }

  /// Pushes the metrics as they are now to a Pushgateway: what a job does that is too short to be scraped, at its end.
  /// To push at intervals, see ``/TapEndpoint/MetricsPusher``.
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

  /// Starts if need be, serves until the current task is cancelled, and shuts down: the life of a service in
  /// a service group.
  ///
  /// - Throws: ``TapError`` as ``start()`` does. A cancel is no error.
  public func run() async throws(TapError) {
    if phase.withLock({ $0 == .idle }) { try start() }
    await Cancellation.wait()
    await shutdown()
  }

  /// Ends the observation, writes out the log, and stops serving. Requests that run are recorded up to here.
  /// Returns when all is done, or when ``Configuration/shutdownDeadline`` has passed for the log and once more
  /// for the endpoint. Further calls do nothing.
  public func shutdown() async {
    let isFirst = phase.withLock { phase in
      defer { phase = .stopped }
      return phase != .stopped
    }
    guard isFirst else { return }
    sessions.stop()
    sessions.flush()
    inbound.flush()
    await closeLog()
    await endpoint?.shutdown(within: deadline)
  }

  /// The log's shutdown blocks its thread, which must not be one of the few that Swift's tasks share.
  private func closeLog() async {
    guard let log else { return }
    await withCheckedContinuation { continuation in
      DispatchQueue.global(qos: .utility).async { [deadline] in
        log.shutdown(within: deadline)
        continuation.resume()
      }
    }
  }
}
