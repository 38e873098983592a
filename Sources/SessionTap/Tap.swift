import Dispatch
import Foundation
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
/// let session = URLSession(configuration: tap.sessionConfiguration(client: "payments"))
/// // … http://localhost:9464/metrics tells how its requests go …
/// await tap.shutdown()
/// ```
///
/// A tap owns its registry, its log and its endpoint; several taps in one process share nothing. All members
/// may be used from any thread.
///
/// Keep the tap for as long as its metrics are to be served: a session does not hold it. With the last reference to a
/// tap that was not shut down its endpoint closes, and the log says so.
public final class Tap: Sendable {
  private enum Phase {
    case idle, running, stopped
  }

  private struct State {
    var phase = Phase.idle
    /// Open when the attempt to listen that is under way has ended.
    var attempt: Latch?
  }

  /// The metrics of the requests, and those that the app adds.
  public let registry: Registry
  /// The request log, if there is one.
  public let requestLog: RequestLog?
  /// Records what the app serves and makes.
  private let recorder: RequestRecorder
  private let sessions: URLSessionTap
  private let endpoint: Endpoint?
  private let whenAddressInUse: AddressInUsePolicy
  private let deadline: Duration
  private let state = Mutex(State())
  /// Open when a shutdown is complete.
  private let end = Latch()

  /// Makes a tap: opens the log and registers the metrics. The endpoint does not listen before ``start()``.
  ///
  /// - Throws: ``TapError`` if a template of paths is misspelt, the log cannot be opened or the metrics cannot be
  ///   registered.
  public init(_ configuration: Configuration = Configuration()) throws(TapError) {
    do { try configuration.validate() } catch { throw TapError(error) }
    registry = configuration.registry
    let hasAccount = URLSessionTap.hasTransferAccount && configuration.requests.readsAccount
    whenAddressInUse = configuration.whenAddressInUse
    deadline = max(.zero, configuration.shutdownDeadline)
    do {
      try registry.register(BuildInfo(transferAccount: hasAccount ? "libcurl" : "none"))
    } catch {
      throw TapError.registryInUse(error)
    }
    do {
      try registry.register(configuration.target)
      if configuration.exposesProcess { try registry.register(ProcessMetrics()) }
      // One thread records what has happened, and writes the log.
      let worker = Worker()
      requestLog = try configuration.makeLog(worker)
      if let requestLog { try registry.register(requestLog) }
      if !hasAccount {
        requestLog?.log(
          .warn, "no account of transfers on this toolchain: sizes come from headers, and phases are unknown")
      }
      let history = configuration.makeHistory()
      let consumers: [(any RequestConsumer)?] = [requestLog, history]
      recorder = try RequestRecorder(
        registry: registry, outbound: configuration.metrics, inbound: configuration.inbound,
        consumers: consumers.compactMap { $0 }, observers: configuration.observers, worker: worker)
      sessions = URLSessionTap(recorder: recorder, configuration: configuration.makeRequests(log: requestLog))
      endpoint = try configuration.makeEndpoint(log: requestLog, history: history, recorder: recorder)
    } catch {
      throw TapError(error)
    }
  }

  deinit {
    guard state.withLock({ $0.phase == .running }) else { return }
    requestLog?.log(
      .warn,
      "the tap was released without a shutdown: its metrics are served no more (keep a reference to the tap)")
  }

  /// Makes a tap and starts it.
  ///
  /// - Throws: ``TapError`` if ``init(_:)`` does, or the address of the endpoint is not to be had
  ///   (`address in use: 127.0.0.1:9464`; see ``Configuration/whenAddressInUse``).
  public static func start(_ configuration: Configuration = Configuration()) throws(TapError) -> Tap {
    let tap = try Tap(configuration)
    try tap.start()
    return tap
  }

  /// Begins to serve the metrics. A tap that has started stays so until its ``shutdown()``.
  ///
  /// - Throws: ``TapError`` if the address is not to be had, or the tap was started or shut down before.
  public func start() throws(TapError) {
    let before = state.withLock { state in
      defer { if state.phase == .idle { state.phase = .running } }
      return state.phase
    }
    switch before {
    case .idle: break
    case .running: throw TapError.startedBefore
    case .stopped: throw TapError.shutDown
    }
    do throws(EndpointError) {
      try listen()
    } catch {
      if error.code == .addressInUse, case .retry(let interval) = whenAddressInUse {
        report("\(error.description); the metrics are not served until the address is free")
        return listenLater(every: max(interval, .milliseconds(10)))
      }
      state.withLock { if $0.phase == .running { $0.phase = .idle } }
      throw TapError(error)
    }
    // A shutdown that came meanwhile has waited for this attempt, and closes what it opened.
    if state.withLock({ $0.phase == .stopped }) { throw TapError.shutDown }
  }

  /// Starts the endpoint, unless the tap is shut down.
  private func listen() throws(EndpointError) {
    guard let endpoint else { return }
    let attempt = Latch()
    let isRunning = state.withLock { state in
      if state.phase == .running { state.attempt = attempt }
      return state.phase == .running
    }
    guard isRunning else { return }
    defer {
      state.withLock { $0.attempt = nil }
      attempt.open()
    }
    sessions.exclude(ownPort: try endpoint.start().port)
  }

  /// Tries again until the endpoint listens, or the tap is shut down or released.
  private func listenLater(every interval: Duration) {
    let pause = DispatchTimeInterval.milliseconds(Int(min(interval, .seconds(86_400)) / .milliseconds(1)))
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + pause) { [weak self] in
      guard let self, state.withLock({ $0.phase == .running }) else { return }
      do throws(EndpointError) {
        try listen()
        if let address { log(.info, "the metrics are served at \(address) now") }
      } catch {
        listenLater(every: interval)
      }
    }
  }

  /// Says on stderr and in the log what an operator has to know at once.
  private func report(_ warning: String) {
    log(.warn, warning)
    try? FileHandle.standardError.write(contentsOf: Data("session-tap: \(warning)\n".utf8))
  }

  /// Where the metrics are served, with the actual port. `nil` before the start, after the shutdown, and
  /// without an endpoint.
  public var address: EndpointAddress? { endpoint?.address }

  /// Records the requests that the app serves, into the same metrics and the same log: for the middleware of its framework.
  public var inbound: InboundRequests { recorder.inbound }

  /// Records requests that the app makes with something else than a URLSession, into the same metrics and the same log.
  public var outbound: OutboundRequests { recorder.outbound }

  /// A copy of a configuration whose sessions this tap observes. See
  /// ``/TapURLSession/URLSessionTap/sessionConfiguration(from:client:)`` for what is kept and what is not.
  ///
  /// - Parameters:
  ///   - configuration: What to copy.
  ///   - client: The name for the `client` label and log field: what the session is for.
  public func sessionConfiguration(
    from configuration: URLSessionConfiguration = .default, client: String
  ) -> URLSessionConfiguration {
    sessions.sessionConfiguration(from: configuration, client: client)
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
    requestLog?.log(severity, message, fields)
  }

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

  /// Starts if need be, serves until the current task is cancelled or the tap is shut down, and shuts down: the life of
  /// a service in a service group.
  ///
  /// - Throws: ``TapError`` as ``start()`` does, also if the tap was shut down before. A cancel is no error.
  public func run() async throws(TapError) {
    if !state.withLock({ $0.phase == .running }) { try start() }
    await withTaskCancellationHandler {
      await end.wait()
    } onCancel: {
      Task { await self.shutdown() }
    }
  }

  /// Ends the observation, writes out the log, and stops serving. Requests that run are recorded up to here.
  /// Returns when all is done, or when ``Configuration/shutdownDeadline`` has passed for the app's own observers, once more
  /// for the log, and once more for the endpoint. Further calls wait for the first.
  public func shutdown() async {
    let (isFirst, attempt) = state.withLock { state in
      defer { state.phase = .stopped }
      return (state.phase != .stopped, state.attempt)
    }
    guard isFirst else { return await end.wait() }
    sessions.stop()
    recorder.drain()
    await closeLog()
    await attempt?.wait()
    await endpoint?.shutdown(within: deadline)
    end.open()
  }

  /// To wait for observers and for the log blocks a thread, which must not be one of the few that Swift's tasks share.
  /// Observers come first: what they log is written.
  private func closeLog() async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global(qos: .utility).async { [recorder, requestLog, deadline] in
        recorder.flushObservers(until: .now.advanced(by: deadline))
        requestLog?.shutdown(within: deadline)
        continuation.resume()
      }
    }
  }
}
