import Foundation
public import TapCore
public import TapEndpoint
public import TapLog
import TapPage
public import TapURLSession

extension Tap {
  /// What a start does if another socket listens at the endpoint's address.
  public enum AddressInUsePolicy: Sendable, Hashable {
    /// Throws ``TapError`` with the code ``TapError/Code/endpoint``.
    case fail
    /// Lets the app run without its metrics being served, says so on stderr and in the log, and tries again at this
    /// interval until the address is free. An interval below 10 ms is 10 ms.
    case retry(every: Duration = .seconds(1))
  }

  /// What a tap does. By default it serves metrics at 127.0.0.1:9464, writes no log, and does what the environment says
  /// (``init(environment:)``); what code sets wins.
  ///
  /// ```swift
  /// var configuration = Tap.Configuration()
  /// configuration.log = .file("/var/log/shop/requests.jsonl")
  /// configuration.outbound.pathTemplates = ["/users/{id}"]
  /// let tap = try Tap.start(configuration)
  /// ```
  ///
  /// It is a value: several taps may be made of one.
  public struct Configuration: Sendable {
    /// What is recorded of the requests that the app makes, be it with a URLSession or with something else
    /// (``Tap/outbound``): filter, templates of paths, buckets, limit of series.
    public var outbound = RequestOptions()
    /// The same of the requests that the app serves (``Tap/inbound``). Their metrics appear with the first of them.
    public var inbound = RequestOptions()
    /// The methods that appear as themselves, in metrics and in the log; any other is `_OTHER`, and with an empty list every one.
    /// Names that are empty or longer than 256 bytes, and those after the first 256, do not count. By default those of RFC 9110,
    /// PATCH (RFC 5789) and QUERY.
    public var knownMethods = RequestOptions().knownMethods
    /// Which requests leave exemplars in their histograms. A trace that begins here is not sampled
    /// (``/TapCore/TraceContext/random(isSampled:)``), so that by default only requests of a caller's sampled trace do.
    public var exemplars = ExemplarPolicy.sampled
    /// What counts for URLSessions alone.
    public var sessions = URLSessionTap.Configuration()
    /// Whether the metrics of the process itself are there: `process_*`, by the conventions of Prometheus's client
    /// libraries. They are once in a registry: an app that has them from elsewhere switches them off.
    public var exposesProcess = true
    /// The service, and what it runs on: `target_info`. Empty where the environment says nothing of it.
    public var target = TargetInfo(serviceName: nil, resourceAttributes: nil)
    /// Where each request's line goes. `nil` writes none.
    public var log: RequestLog.Destination? { didSet { isLogOfEnvironment = false } }
    /// How lines are made and written: redaction, limits, what happens when the disk cannot keep up.
    public var logOptions = RequestLog.Configuration()
    /// Whether the endpoint serves the newest log lines at `/logs`, and shows them on its page. Not by default:
    /// lines tell more than metrics do. Where ``log`` is `nil`, lines are kept for this alone. How many is
    /// ``/TapLog/RequestLog/Configuration/recentLineLimit``, or ``servedLineLimit`` where that is 0.
    public var servesLog = false
    /// Whether the page opens with the last ten minutes. By default it does: the process keeps the totals of its requests for each
    /// five seconds, by client, server and path template, and by the route of those that it serves. They take 16 KiB for each of
    /// these with requests all the time, and less than 2 MiB: beyond 16 templates the rest are counted by client and server,
    /// beyond 24 of all, and 24 routes, together. The endpoint serves them at `/page/history`. Without it the charts begin when the
    /// page is opened. An app without an ``endpoint`` keeps nothing.
    public var keepsPageHistory = true
    /// How many lines `/logs` has to show where nothing else is said: 1,000.
    public static let servedLineLimit = 1_000
    /// Where the metrics are served. `nil` serves none. Refusals that it does not log elsewhere
    /// (``/TapEndpoint/Endpoint/Configuration/logRefusal``) become warnings in the log.
    public var endpoint: Endpoint.Configuration? = Endpoint.Configuration()
    /// What ``Tap/start()`` does if another process has the endpoint's address, as one that is about to end has during
    /// a restart. By default the app runs, and the endpoint listens as soon as the address is free.
    public var whenAddressInUse = AddressInUsePolicy.retry()
    /// What `/readyz` asks before it answers that the app is ready, by name, in the order of the names. ``Tap/readiness`` takes
    /// more later.
    public var readinessChecks: [String: Readiness.Check] = [:]
    /// Small handlers of the app's own, beside `/metrics`, `/healthz`, `/readyz`, the page at `/` and what it asks for
    /// (`/page/history`, `/logs`), whose paths they cannot take.
    public var routes: [EndpointRoute] = []
    /// The app's own observers of the requests that it makes and serves. One thread calls them, one after another, soon after a
    /// request's start and end. A slow observer delays neither requests nor scrapes: when 4,096 calls wait, further ones are
    /// dropped and counted in `session_tap_observer_dropped_total`.
    public var observers: [any RequestObserver] = []
    /// How long ``Tap/shutdown()`` may take for the endpoint, for the app's own observers, and for the log, each. 5 s. A
    /// negative time is 0.
    public var shutdownDeadline = Duration.seconds(5)
    /// Whether the start says nothing on standard error. By default it says, a line each, where the metrics are, and what of the
    /// ``warnings`` an operator has to know. All warnings are in the log, too.
    public var isQuiet = false
    /// What ``init(environment:)`` could not use, a line each.
    public internal(set) var warnings: [String] = []

    /// What the environment said: an app does not end for it.
    var environmentAddress: EndpointAddress?
    var isAddressOfEnvironment: Bool { environmentAddress != nil && environmentAddress == endpoint?.address }
    var isLogOfEnvironment = false
    /// Keeps what has ended, in a tap for tests.
    var recorded: RecordedRequests?

    /// Makes the default configuration, changed by the process's environment (``init(environment:)``).
    public init() {
      self.init(environment: ProcessInfo.processInfo.environment)
    }

    /// - Parameter endpoint: Where the metrics are served.
    init(endpoint: Endpoint.Configuration?) {
      self.endpoint = endpoint
    }
  }
}

/// How the parts of a tap follow from its configuration.
extension Tap.Configuration {
  /// Refuses what cannot be used, before anything is opened or registered.
  func validate() throws(PathTemplateError) {
    try outbound.pathTemplates.validate()
    try inbound.pathTemplates.validate()
    try logOptions.redaction.allowedPaths?.validate()
  }

  /// The log, if lines are wanted anywhere. One that the environment asks for, and that cannot be opened, is left out with a warning.
  ///
  /// - Parameter worker: The thread that writes it.
  mutating func makeLog(_ worker: Worker) throws(RequestLogError) -> RequestLog? {
    var logOptions = logOptions
    logOptions.knownMethods = knownMethods
    if servesLog, logOptions.recentLineLimit == 0 { logOptions.recentLineLimit = Self.servedLineLimit }
    guard let destination = log ?? (servesLog ? .memory : nil) else { return nil }
    do {
      return try RequestLog(to: destination, configuration: logOptions, worker: worker)
    } catch {
      guard isLogOfEnvironment, error.code == .cannotOpen else { throw error }
      warnings.append("SESSION_TAP_LOG: \(error); the app runs without a log")
      log = nil
      return try makeLog(worker)
    }
  }

  /// What the sessions record: headers only where the log shows some.
  func makeSessions(log: RequestLog?) -> URLSessionTap.Configuration {
    var sessions = sessions
    if let log { sessions.reportWaiting = { log.requestWaits($0, for: $1) } }
    let redaction = logOptions.redaction
    if !redaction.allowedRequestHeaders.isEmpty || !redaction.allowedResponseHeaders.isEmpty {
      sessions.collectsHeaders = true
    }
    return sessions
  }

  /// What the page shows before its first scrape, if there is a page to show it.
  func makeHistory() -> RequestHistory? {
    guard endpoint != nil, keepsPageHistory else { return nil }
    return RequestHistory(outbound: outbound, inbound: inbound)
  }

  /// The endpoint, if there is to be one: the routes of every tap, and the app's own.
  func makeEndpoint(
    registry: Registry, readiness: Readiness, log: RequestLog?, history: RequestHistory?,
    recorder: RequestRecorder
  ) throws(RegistryError) -> Endpoint? {
    guard var endpoint else { return nil }
    if let log, endpoint.logRefusal == nil {
      endpoint.logRefusal = { line in log.log(.warn, line) }
    }
    let servedLog = servesLog ? log : nil
    var builtIn: [EndpointRoute] = [
      try .metrics(of: registry), .liveness(), .readiness(readiness),
      .page(showsLog: servedLog != nil, showsHistory: history != nil),
    ]
    if let history { builtIn.append(.history(of: history, recorder: recorder)) }
    if let servedLog { builtIn.append(.logs(of: servedLog)) }
    return Endpoint(configuration: endpoint, routes: builtIn + routes)
  }
}
