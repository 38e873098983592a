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

  /// What a tap does, with its defaults: metrics at 127.0.0.1:9464, no log.
  public struct Configuration: Sendable {
    /// Where the metrics are registered. It belongs to the tap that is made of this configuration, and stays taken
    /// where that tap could not start: a registry holds the request metrics once, so a further tap needs another.
    public var registry = Registry()
    /// The request metrics: buckets, methods, limit of series.
    public var metrics = RequestMetrics()
    /// The metrics of the requests that the app serves (``Tap/inbound``). They appear with the first of them.
    public var inbound = RequestMetrics()
    /// Whether the metrics of the process itself are there: `process_*`, by the conventions of Prometheus's client
    /// libraries. They are once in a registry: an app that has them from elsewhere switches them off.
    public var exposesProcess = true
    /// The service, and what it runs on: `target_info`. Empty by default; ``init(environment:)`` fills it.
    public var target = TargetInfo(serviceName: nil, resourceAttributes: nil)
    /// Which requests are recorded, and the templates of their paths.
    public var requests = URLSessionTap.Configuration()
    /// Where each request's line goes. `nil` writes none.
    public var log: RequestLog.Destination?
    /// How lines are made and written: redaction, limits, what happens when the disk cannot keep up.
    public var logOptions = RequestLog.Configuration()
    /// Whether the endpoint serves the newest log lines at `/logs`, and shows them on its page. Not by default:
    /// lines tell more than metrics do. Where ``log`` is `nil`, lines are kept for this alone. How many is
    /// ``/TapLog/RequestLog/Configuration/recentLineLimit``, or ``servedLineLimit`` where that is 0.
    public var servesLog = false
    /// Whether the page opens with the last ten minutes. By default it does: the process keeps the totals of its requests for each
    /// five seconds, by client and server, and by the route of those that it serves. They take 16 KiB for each client and server
    /// with requests all the time, and less than 1 MiB: beyond 16 of them, and 16 routes, the rest are counted together. The
    /// endpoint serves them at `/page/history`. Without it the charts begin when the page is opened. An app without an
    /// ``endpoint`` keeps nothing.
    public var keepsPageHistory = true
    /// How many lines `/logs` has to show where nothing else is said: 1,000.
    public static let servedLineLimit = 1_000
    /// Where the metrics are served. `nil` serves none. Refusals that it does not log elsewhere
    /// (``/TapEndpoint/Endpoint/Configuration/logRefusal``) become warnings in the log.
    public var endpoint: Endpoint.Configuration? = Endpoint.Configuration()
    /// What ``Tap/start()`` does if another process has the endpoint's address, as one that is about to end has during
    /// a restart. By default it throws.
    public var whenAddressInUse = AddressInUsePolicy.fail
    /// What `/readyz` asks before it answers that the app is ready. Add the app's own checks.
    public var readiness = Readiness()
    /// Small handlers of the app's own, beside `/metrics`, `/healthz`, `/readyz`, the page at `/` and what it asks for
    /// (`/page/history`, `/logs`), whose paths they cannot take.
    public var routes: [EndpointRoute] = []
    /// The app's own observers of the requests that it makes and serves. One thread calls them, one after another, soon after a
    /// request's start and end. A slow observer delays neither requests nor scrapes: when 4,096 calls wait, further ones are
    /// dropped and counted in `session_tap_observer_dropped_total`.
    public var observers: [any RequestObserver] = []
    /// How long ``Tap/shutdown()`` may take for the app's own observers, for the log, and for the endpoint, each. 5 s. A
    /// negative time is 0.
    public var shutdownDeadline = Duration.seconds(5)
    /// What ``init(environment:)`` could not use, a line each.
    public internal(set) var warnings: [String] = []

    /// Makes the default configuration.
    public init() {}
  }
}

/// How the parts of a tap follow from its configuration.
extension Tap.Configuration {
  /// Refuses what cannot be used, before anything is opened or registered.
  func validate() throws(PathTemplateError) {
    try requests.pathTemplates.validate()
    try logOptions.redaction.allowedPaths?.validate()
  }

  /// The log, if lines are wanted anywhere.
  ///
  /// - Parameter worker: The thread that writes it.
  func makeLog(_ worker: Worker) throws(RequestLogError) -> RequestLog? {
    var logOptions = logOptions
    if servesLog, logOptions.recentLineLimit == 0 { logOptions.recentLineLimit = Self.servedLineLimit }
    guard let destination = log ?? (servesLog ? .memory : nil) else { return nil }
    return try RequestLog(to: destination, configuration: logOptions, worker: worker)
  }

  /// What the sessions record: headers only where the log shows some.
  func makeRequests(log: RequestLog?) -> URLSessionTap.Configuration {
    var requests = requests
    if let log { requests.reportWaiting = { log.requestWaits($0, for: $1) } }
    let redaction = logOptions.redaction
    if !redaction.allowedRequestHeaders.isEmpty || !redaction.allowedResponseHeaders.isEmpty {
      requests.collectsHeaders = true
    }
    return requests
  }

  /// What the page shows before its first scrape, if there is a page to show it.
  func makeHistory() -> RequestHistory? {
    guard endpoint != nil, keepsPageHistory else { return nil }
    return RequestHistory(outbound: metrics, inbound: inbound)
  }

  /// The endpoint, if there is to be one: the routes of every tap, and the app's own.
  func makeEndpoint(
    log: RequestLog?, history: RequestHistory?, recorder: RequestRecorder
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
