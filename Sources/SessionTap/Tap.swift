import Foundation
import Synchronization
public import TapCore
public import TapEndpoint
public import TapLog
import TapPage
package import TapURLSession

/// Observes the URLSessions of an app: metrics for Prometheus over HTTP, and one log line per request.
///
///     let tap = try Tap.start()
///     let session = tap.session(client: "payments")
///
/// A tap owns its registry, its log and its endpoint. Several taps share nothing. Any thread may use all
/// members. Keep the tap for as long as its metrics are to be served: a session does not retain it. If it is
/// released without a shutdown, its endpoint closes, its sessions are not observed, and the log says so.
public final class Tap: Sendable {
  private enum Phase { case idle, running, stopped }

  /// The metrics of the requests and of the app.
  public let registry: Registry
  /// The request log, if there is one.
  public let requestLog: RequestLog?
  package let recorder: RequestRecorder
  package let sessions: URLSessionTap
  let endpoint: Endpoint?
  /// The configuration as given, plus warnings of the start.
  package let configuration: Configuration
  private let phase = Mutex(Phase.idle)
  /// Held while the endpoint begins to listen.
  private let listening = Mutex(())
  /// Comes when a shutdown begins, or the tap is released.
  private let stop = Promise<Void>()
  /// Comes when a shutdown is complete.
  private let end = Promise<Void>()

  /// Makes a tap: opens the log and registers the metrics. The endpoint does not listen before ``start()``.
  ///
  /// - Parameters:
  ///   - configuration: What the tap does.
  ///   - registry: Where the metrics are registered: one of its own for each tap. Do not reuse it after this
  ///     throws.
  /// - Throws: ``TapError`` if a template is misspelt, the log cannot be opened or the metrics not be
  ///   registered.
  public init(
    _ configuration: Configuration = Configuration(), registry: Registry = Registry()
  ) throws(TapError) {
    var configuration = configuration
    do { try configuration.validate() } catch { throw TapError(error) }
    configuration.obeyDisabling()
    self.registry = registry
    do {
      try registry.register(
        BuildInfo { [sessions = configuration.sessions] in
          [
            "transfer_info": sessions.readsTransferInfo ? "libcurl" : "none",
            "connection_info": sessions.readsConnectionInfo ? "kernel" : "none",
          ]
        })
    } catch {
      throw TapError(
        .metrics,
        "the registry has the metrics of a tap already: make the next tap with a Registry() of its own",
        underlying: error)
    }
    do {
      try registry.register(configuration.target)
      for witness in [Witness.libcurl, .kernel] {
        try registry.counter(
          "session_tap_contradictions_total",
          help: "Transfers of which another source contradicted libcurl or the kernel.",
          labels: ["witness": witness.name]
        ) { Double(witness.contradictions) }
      }
      configuration.sessions.unknownConnections = try registry.counter(
        "session_tap_unknown_connections_total",
        help: "Requests whose connection the kernel could not be asked of.")
      if configuration.exposesProcess { try registry.register(ProcessMetrics()) }
      // Before the log, so that an exit writes the log first.
      let blackBoxFile = configuration.openBlackBox()
      requestLog = try configuration.makeLog()
      configuration.warnOfIgnoredVariables()
      configuration.warn(of: blackBoxFile?.content)
      for warning in configuration.warnings { requestLog?.log(.warn, warning) }
      if !configuration.sessions.readsTransferInfo {
        requestLog?.log(
          .warn,
          "libcurl tells nothing of transfers on this toolchain: sizes come from headers, phases are unknown")
      }
      var blackBox: BlackBox?
      if let blackBoxFile { blackBox = configuration.takeOver(blackBoxFile, log: requestLog) }
      let log: [any RequestConsumer] = requestLog.map { [$0] } ?? []
      recorder = try RequestRecorder(
        registry: registry, outbound: configuration.outbound, inbound: configuration.inbound,
        exemplars: configuration.exemplars, headers: configuration.logging.redaction.headers,
        knownMethods: KnownMethods(configuration.knownMethods), consumers: log + configuration.consumers,
        observers: configuration.observers, tracer: configuration.makeTracer(),
        traceSamplingRate: configuration.traceSamplingRate,
        learnsPaths: configuration.learnsPaths, keepsHistory: configuration.endpoint != nil,
        blackBox: blackBox)
      // After the recorder, which drains: the requests and the lines of a scrape are the same ones.
      if let requestLog { try registry.register(requestLog) }
      sessions = URLSessionTap(recorder: recorder, configuration: configuration.makeSessions(log: requestLog))
      endpoint = try configuration.makeEndpoint(registry: registry, log: requestLog, recorder: recorder)
      self.configuration = configuration
    } catch {
      throw TapError(error)
    }
  }

  deinit {
    stop.fulfill(())
    let phase = phase.withLock { $0 }
    // Else the table of classes would hold the rest of the tap for as long as the process lives.
    if phase != .stopped { sessions.stop() }
    guard phase == .running else { return }
    requestLog?.log(
      .warn,
      "the tap was released without a shutdown: its sessions are observed no more, and its metrics are not served "
        + "(keep a reference to the tap)")
  }

  /// Makes a tap and starts it. Without a configuration it reads the process's environment
  /// (``Configuration/init(environment:)``). Prints where the metrics are, and which variables are unusable,
  /// unless ``Configuration/isQuiet``.
  ///
  /// - Throws: ``TapError`` if ``init(_:registry:)`` does, or the endpoint cannot listen at an address that
  ///   *code* gave, such as another machine's. A taken port is no error, and an invalid environment never is.
  public static func start(_ configuration: Configuration = Configuration()) throws(TapError) -> Tap {
    let tap = try Tap(configuration)
    try tap.start()
    return tap
  }

  /// Begins to serve the metrics, and prints where. The tap serves them until its ``shutdown()``.
  ///
  /// - Throws: ``TapError`` if the endpoint cannot listen at the address that code gave, or the tap was
  ///   started or shut down before.
  public func start() throws(TapError) {
    guard try begin() else {
      throw TapError(.startedBefore, "the tap was started before; make another one")
    }
    try serve()
  }

  /// Has the tap run from now on. Returns whether it did not run before.
  private func begin() throws(TapError) -> Bool {
    let before = phase.withLock { phase in
      defer { if phase == .idle { phase = .running } }
      return phase
    }
    if before == .stopped { throw TapError(.shutDown, "the tap was shut down; make another one") }
    return before == .idle
  }

  private func serve() throws(TapError) {
    for warning in configuration.warnings { say("warning: \(warning)") }
    do throws(EndpointError) {
      try listen()
    } catch {
      guard configuration.tolerates(error) else {
        phase.withLock { if $0 == .running { $0 = .idle } }
        throw TapError(.endpoint, error.description, underlying: error)
      }
      if error.isLasting { return warn("\(error); the app runs, and its metrics are not served") }
      warn("\(error); the app runs, and its metrics are served as soon as that is over")
      listenLater()
    }
  }

  /// Starts the endpoint, unless the tap is shut down, and says where.
  private func listen() throws(EndpointError) {
    let started = try listening.withLock { _ throws(EndpointError) in
      phase.withLock { $0 == .running } ? try endpoint?.start() : nil
    }
    if let started { say("metrics at http://\(started)/metrics") }
  }

  /// Tries again until the endpoint listens, or the tap is shut down or released.
  private func listenLater() {
    BackgroundThread.startNowOrLater { [weak self, stop, interval = configuration.addressRetryInterval] in
      while stop.wait(until: .now.advanced(by: interval)) == nil, self?.listens() == false {}
    }
  }

  /// `false` if it still cannot listen.
  private func listens() -> Bool {
    do throws(EndpointError) { try listen() } catch { return false }
    if let address { log(.info, "the metrics are served at \(address) now") }
    return true
  }

  /// Says in the log and on standard error what an operator has to know at once.
  package func warn(_ warning: String) {
    log(.warn, warning)
    say("warning: \(warning)")
  }

  private func say(_ text: String) {
    if !configuration.isQuiet { StandardError.write(line: "session-tap: \(text)") }
  }

  /// Where the metrics are served, with the actual port. `nil` while the endpoint does not listen.
  public var address: EndpointAddress? { endpoint?.address }

  /// Records the requests that the app serves. A framework's middleware calls it.
  public var inbound: InboundRequests { recorder.inbound }

  /// Records requests that the app makes without a URLSession.
  public var outbound: OutboundRequests { recorder.outbound }

  /// The requests of both directions that have not ended, the oldest first: for a check that fails while
  /// requests wait for too long, and for tests.
  ///
  /// Those that URLSession has taken and not started are among them (``/TapCore/RequestWait/start``). The
  /// URLs are not redacted. Any thread may call it. It waits up to 0.1 s for Foundation's queue, on which it
  /// looks at the oldest 1,000.
  ///
  /// - Parameter age: How long a request must have been active. All by default.
  public func activeRequests(olderThan age: Duration = .zero) -> [RequestSnapshot] {
    recorder.activeRequests(olderThan: age)
  }

  /// Writes a line of the app's own to the log, if there is one. See ``/TapLog/RequestLog/log(_:_:_:)`` for
  /// the fields and the limits.
  ///
  ///     tap.log(.info, "cache warmed", ["entries": 42])
  public func log(_ severity: LogSeverity, _ message: String, _ fields: [String: FieldValue] = [:]) {
    requestLog?.log(severity, message, fields)
  }

  /// Starts the tap if it has not started, serves until the current task is cancelled or the tap is shut
  /// down, and shuts down: for a service group. Throws as ``start()`` does, also after a shutdown.
  public func run() async throws(TapError) {
    if try begin() { try serve() }
    await withTaskCancellationHandler {
      await end.value
    } onCancel: {
      Task { await self.shutdown() }
    }
  }

  /// Records everything up to this call, delivers it to the app's own observers, and writes it to the log,
  /// within a limit. `false` if the time ran out, as it does while an observer or the log's disk hangs.
  @discardableResult public func flush(within limit: Duration = .seconds(5)) async -> Bool {
    let deadline = Instant.now.advanced(by: limit)
    return await BackgroundThread.run { [recorder, requestLog] in
      recorder.drain()
      let isDelivered = recorder.flushObservers(until: deadline)
      let isWritten = requestLog?.flush(within: Instant.now.duration(to: deadline)) ?? true
      return isDelivered && isWritten
    }
  }

  /// Ends the observation, stops serving, and writes out the log. Active requests are recorded up to this
  /// call. The endpoint and the app's own observers get ``Configuration/shutdownTimeout``, and then the log
  /// does; the lines up to this call are written first. Further calls wait for the first.
  public func shutdown() async {
    guard phase.withLock({ exchange(&$0, with: .stopped) }) != .stopped else { return await end.value }
    stop.fulfill(())
    sessions.stop()
    let limit = max(.zero, configuration.shutdownTimeout)
    let deadline = Instant.now.advanced(by: limit)
    let served = Promise<Void>()
    Task {
      // Behind a start that has begun.
      listening.withLock { _ in }
      await endpoint?.shutdown(within: limit)
      served.fulfill(())
    }
    // No task is waited for without a deadline: the app may block all threads of Swift's tasks.
    await BackgroundThread.run { [recorder, requestLog] in
      // The log's thread writes the lines meanwhile.
      recorder.drain()
      recorder.flushObservers(until: deadline)
      _ = served.wait(until: deadline.advanced(by: Self.closingTime))
      // What handlers and observers record and log comes before the log's end.
      recorder.reportUnfinished()
      // What is active has its line: a kill from here on tells it no second time.
      if let box = recorder.blackBox, requestLog?.flush(within: .milliseconds(250)) == true { box.close() }
      recorder.flushObservers(until: deadline)
      recorder.drain()
      requestLog?.shutdown(within: limit)
      recorder.blackBox?.close()
    }
    end.fulfill(())
  }

  /// How long the endpoint may take to close what is left at its deadline.
  private static let closingTime = Duration.milliseconds(250)
}
