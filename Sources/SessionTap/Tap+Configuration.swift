import Foundation
public import TapCore
public import TapEndpoint
public import TapLog
import TapPage
package import TapURLSession

extension Tap {
  /// What a tap does. By default it serves metrics at 127.0.0.1:9464, writes no log, and reads the
  /// environment (``init(environment:)``). Values that the code sets take precedence.
  ///
  /// ```swift
  /// var configuration = Tap.Configuration()
  /// configuration.log = .file("/var/log/shop/requests.jsonl")
  /// configuration.outbound.pathTemplates = ["/users/{id}"]
  /// let tap = try Tap.start(configuration)
  /// ```
  ///
  /// It is a value: several taps may be made from one.
  public struct Configuration: Sendable {
    /// How the requests that the app makes are recorded, with a URLSession or otherwise (``Tap/outbound``).
    public var outbound = RequestConfiguration()
    /// How those that it serves are recorded (``Tap/inbound``). Their metrics appear with the first.
    public var inbound = RequestConfiguration()
    /// The methods that appear as themselves in metrics and in the log; any other is `_OTHER`. Names that are
    /// empty or longer than 256 bytes, and those after the first 256, are ignored. By default the methods of
    /// RFC 9110, PATCH (RFC 5789) and QUERY.
    public var knownMethods = KnownMethods.standard.names
    /// Which requests leave exemplars in their histograms: by default those of a sampled trace. A trace that
    /// begins here is not sampled (``/TapCore/TraceContext/random(isSampled:)``), so only a caller's can be.
    public var exemplars = ExemplarPolicy.sampled
    /// Settings for URLSessions alone.
    package var sessions = URLSessionTap.Configuration()
    /// Whether the tap exposes the metrics of the process, `process_*`. Switch it off if the app registers
    /// its own.
    public var exposesProcess = true
    /// The service and its attributes: `target_info`, and `service.name` and `service.version` in the log,
    /// unless ``logging`` has these fields. Empty unless the environment sets it.
    public var target = TargetInfo(serviceName: nil, resourceAttributes: nil)
    /// Where the lines go: each request's, and the app's own. `nil` writes none. A list has several places:
    /// `[.file("requests.jsonl"), .standardError]`. ``logging`` says how the lines are made.
    public var log: RequestLog.Destination? { didSet { isLogOfCode = true } }
    /// How the lines are made and written, wherever ``log`` has them go: redaction, sampling, limits,
    /// rotation.
    public var logging = RequestLog.Configuration()
    /// Whether the endpoint serves the newest lines at `/logs` and on its page, and at `/requests` those of
    /// the requests that have not ended. `false` by default, because lines reveal more than metrics. Works
    /// without a ``log``. The number of the newest lines is
    /// ``/TapLog/RequestLog/Configuration/recentLineLimit``, or 1,000 if that is 0.
    public var servesLog = false
    /// Where the metrics are served; `nil` serves none. By default refusals become warnings in the log.
    ///
    /// The page opens with the last ten minutes. For it the process keeps what each five seconds added to the
    /// durations of ended requests, by the series of the metric, with the slowest and the newest failed
    /// requests: at most 3 MiB for the requests that the app makes, and 3 MiB for those that it serves.
    /// Beyond that it keeps less than ten minutes. An app without an endpoint keeps nothing.
    public var endpoint: Endpoint.Configuration? = Endpoint.Configuration()
    /// Whether ``Tap/start()`` throws if another process uses the endpoint's address, as the old one does in
    /// a restart. By default it warns, and the endpoint tries again each second until the address is free.
    public var failsIfAddressInUse = false
    /// The app's own observers of the requests that it makes and serves. One thread calls them, one after
    /// another, soon after a request's start and end. A slow observer delays neither requests nor scrapes:
    /// when 4,096 calls wait, further ones are dropped and counted in `session_tap_observer_dropped_total`.
    public var observers: [any RequestObserver] = []
    /// Makes a span of each request that the app makes with a trace, and of each that it serves. A thread of
    /// its own calls it when a request has ended, with URLs and addresses as the log shows them
    /// (``/TapLog/LogRedaction``). Requests of all URLSessions take their spans from the tracer of the newest
    /// tap that has one.
    public var tracer: (any RequestTracer)?
    /// The share of the traces that begin in this process, from 0 to 1, which are marked as sampled: 0, none,
    /// by default. `nan` counts as 0. The trace id decides, as in OpenTelemetry's
    /// `ParentBased(TraceIdRatioBased)`: a trace that comes with a request stays as it is. Services behind
    /// that record sampled traces record these, if the requests are sent with their trace (`traced()`). A
    /// ``tracer`` decides by itself.
    public var traceSamplingRate = 0.0
    /// How long ``Tap/shutdown()`` may wait for the endpoint and the app's own observers, and then for the
    /// log. 5 s by default. A negative time is 0.
    public var shutdownTimeout = Duration.seconds(5)
    /// Whether the start prints nothing to standard error. By default it prints where the metrics are, and
    /// each of the ``warnings`` that concerns an operator. The log has all warnings.
    public var isQuiet = false
    /// One line for each variable that ``init(environment:)`` could not use.
    public internal(set) var warnings: [String] = []

    package var addressRetryInterval = Duration.seconds(1)
    /// What keeps the requests of a tap for tests.
    package var consumers: [any RequestConsumer] = []
    var assignments: [EnvironmentVariable.Assignment] = []
    /// The address, if a variable has changed it.
    var environmentAddress: EndpointAddress?
    var environmentLog: RequestLog.Destination?
    /// Whether the code has set ``log``.
    var isLogOfCode = false

    /// Makes the default configuration, changed by the process's environment (``init(environment:)``).
    public init() { self.init(environment: ProcessInfo.processInfo.environment) }
  }
}

extension Tap.Configuration {
  /// Refuses what cannot be used, before anything is opened or registered.
  func validate() throws(PathTemplateError) {
    try outbound.pathTemplates.validate()
    try inbound.pathTemplates.validate()
    try logging.redaction.allowedPaths?.validate()
  }

  /// The log, if lines are wanted anywhere. Where its path cannot be opened, that of the environment is
  /// tried, and it is left out if only the environment asks for it.
  mutating func makeLog() throws(RequestLogError) -> RequestLog? {
    var logging = logging
    logging.isQuiet = isQuiet
    for (field, label) in [("service.name", "service_name"), ("service.version", "service_version")]
    where logging.fields[field] == nil {
      if let value = target[label] { logging.fields[field] = .string(value) }
    }
    if servesLog, logging.recentLineLimit == 0 { logging.recentLineLimit = 1_000 }
    guard let destination = log ?? (servesLog ? .memory : nil) else { return nil }
    do {
      return try RequestLog(to: destination, configuration: logging)
    } catch {
      guard error.code == .cannotOpen, let environmentLog else { throw error }
      if !isLogOfCode {
        warnings.append("\(EnvironmentVariable.log): \(error); the app runs without a log")
        // It is not the code that sets none.
        assignments.removeAll { $0.variable.name == EnvironmentVariable.log }
        log = nil
        return try makeLog()
      }
      guard destination.canonicalKinds != environmentLog.canonicalKinds,
        let requestLog = try? RequestLog(to: environmentLog, configuration: logging)
      else { throw error }
      warnings.append("\(error); \(EnvironmentVariable.log) is used instead")
      log = environmentLog
      return requestLog
    }
  }

  /// What the sessions record: headers only where the log shows some.
  func makeSessions(log: RequestLog?) -> URLSessionTap.Configuration {
    var sessions = sessions
    if let log {
      sessions.reportDisbelief = { log.log(.warn, $0) }
    }
    let redaction = logging.redaction
    sessions.collectsHeaders =
      !redaction.allowedRequestHeaders.isEmpty || !redaction.allowedResponseHeaders.isEmpty
    return sessions
  }

  /// The endpoint, if there is to be one.
  func makeEndpoint(
    registry: Registry, log: RequestLog?, recorder: RequestRecorder
  ) throws(RegistryError) -> Endpoint? {
    guard var endpoint else { return nil }
    if let log, endpoint.logRefusal == nil { endpoint.logRefusal = { line in log.log(.warn, line) } }
    let servedLog = servesLog ? log : nil
    var further =
      EndpointRoute.page(showsLog: servedLog != nil, showsHistory: true) + [.history(PageHistory(recorder))]
    if let servedLog {
      let waits = PageWaits(recorder) {
        String(decoding: servedLog.lines(of: [$0], byteLimit: .max), as: UTF8.self)
      }
      further += [.logs(of: servedLog), .requests(of: recorder, as: servedLog), .waits(waits)]
    } else {
      further.append(.waits(PageWaits(recorder)))
    }
    return try Endpoint(configuration: endpoint, registry: registry, further: further)
  }
}

extension Tap.Configuration {
  /// The tracer, which gets requests as the log shows them.
  func makeTracer() -> (any RequestTracer)? {
    tracer.map { RedactedTracer(tracer: $0, redact: logging.redaction.makeRedactor()) }
  }
}

private struct RedactedTracer: RequestTracer {
  let tracer: any RequestTracer
  let redact: @Sendable (inout RequestObservation) -> Void

  var currentTrace: TraceContext? { tracer.currentTrace }
  func beginClientSpan() -> TraceContext { tracer.beginClientSpan() }
  func beginClientSpan(in parent: TraceContext) -> TraceContext { tracer.beginClientSpan(in: parent) }

  func beginServerSpan(method: String, headers: (String) -> String?) -> TraceContext {
    tracer.beginServerSpan(method: method, headers: headers)
  }

  func requestEnded(_ observation: RequestObservation) {
    var observation = observation
    redact(&observation)
    tracer.requestEnded(observation)
  }
}
