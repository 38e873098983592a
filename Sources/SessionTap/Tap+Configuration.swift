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
  /// It is a value: several taps may be made from one.
  public struct Configuration: Sendable {
    /// How the requests that the app makes are recorded, with a URLSession or otherwise (``Tap/outbound``).
    public var outbound = RequestConfiguration()
    /// How those that it serves are recorded (``Tap/inbound``). Their metrics appear with the first.
    public var inbound = RequestConfiguration()
    /// Whether the path of a request that the app makes leads to a template where the app gives none: ids
    /// become `{id}` by their form, such as numbers and UUIDs, and words stay. At most 50 templates for each
    /// server; the label of further ones is `_OTHER`. `false` by default. Not for served requests, whose
    /// paths are their callers': their template is the framework's route.
    public var learnsPaths = false
    package var knownMethods = KnownMethods.standard.names
    /// Which requests leave exemplars in their histograms: by default those of a sampled trace.
    public var exemplars = ExemplarPolicy.sampled
    package var sessions = URLSessionTap.Configuration()
    package var exposesProcess = true
    /// The service and its attributes.
    package var target = TargetInfo(serviceName: nil)
    /// The name of the service: in `target_info`, and `service.name` in the log, unless ``logging`` has that
    /// field. By default that of `OTEL_SERVICE_NAME`. Other attributes come from `OTEL_RESOURCE_ATTRIBUTES`
    /// alone (``init(environment:)``).
    public var serviceName: String? {
      get { target["service_name"] }
      set { target = target.with(serviceName: newValue) }
    }
    /// Where the lines go: each request's, and the app's own. `nil` writes none. A list has several places:
    /// `[.file("requests.jsonl"), .standardError]`.
    public var log: RequestLog.Destination? { didSet { isLogOfCode = true } }
    /// How the lines are made and written: redaction, sampling, limits, rotation.
    public var logging = RequestLog.Configuration()
    /// Whether the endpoint serves the newest lines at `/logs` and on its page, and at `/requests` those of
    /// the requests that have not ended. `false` by default, because lines reveal more than metrics. Works
    /// without a ``log``. Serves 1,000 lines, unless ``/TapLog/RequestLog/Configuration/recentLineLimit``
    /// says otherwise.
    public var servesLog = false
    /// The path of the black box: a file on a tmpfs, such as `/run/shop/requests`, which has the active
    /// requests. If the process is killed, the next one with this path writes a line for each of them. `nil`,
    /// none, by default. The app runs without if the file cannot be used: a warning says why.
    public var blackBox: String?
    /// Where the metrics are served; `nil` serves none, and keeps no history for the page, which takes at
    /// most 3 MiB for each direction. By default refusals become warnings in the log.
    public var endpoint: Endpoint.Configuration? = Endpoint.Configuration()
    /// Whether ``Tap/start()`` throws if another process uses the endpoint's address, as the old one does in
    /// a restart. By default it warns, and the endpoint tries again each second until the address is free.
    package var failsIfAddressInUse = false
    /// The app's own observers of the requests that it makes and serves (``/TapCore/RequestObserver``).
    public var observers: [any RequestObserver] = []
    /// Makes a span of each request that the app makes with a trace, and of each that it serves, with URLs
    /// and addresses as the log shows them. A thread of its own calls it when a request has ended. Of several
    /// taps with a tracer, the newest makes the spans of URLSessions.
    public var tracer: (any RequestTracer)?
    /// The share of the traces that begin in this process, from 0 to 1, which are marked as sampled: 0, none,
    /// by default. The trace id decides, as in OpenTelemetry's `ParentBased(TraceIdRatioBased)`. A ``tracer``
    /// decides by itself.
    public var traceSamplingRate = 0.0
    /// How long ``Tap/shutdown()`` may wait for the endpoint and the app's own observers, and then for the
    /// log.
    public var shutdownTimeout = Duration.seconds(5)
    /// Whether nothing is printed to standard error: neither where the metrics are, nor ``warnings``.
    public var isQuiet = false
    /// One line for each variable that ``init(environment:)`` could not use.
    public internal(set) var warnings: [String] = []

    package var addressRetryInterval = Duration.seconds(1)
    /// What keeps the requests of a tap for tests.
    package var consumers: [any RequestConsumer] = []
    /// Whether the tap does nothing, by the environment.
    var isDisabled = false
    /// Whether the environment gives the sampling rate as an argument of its sampler.
    var samplesByRatio = false
    /// The tap's own variables, and no others: those of the app may be secret.
    var environment: [String: String] = [:]
    /// The variables that could be used.
    var assignments: [(variable: EnvironmentVariable, value: String)] = []
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
      guard error.code == .cannotOpen, let environmentLog = ofEnvironment.log else { throw error }
      if !isLogOfCode {
        warnings.append("\(EnvironmentVariable.log): \(error); the app runs without a log")
        // It is not the code that sets none.
        assignments.removeAll { $0.variable.name == EnvironmentVariable.log }
        log = nil
        return try makeLog()
      }
      guard let requestLog = try? RequestLog(to: environmentLog, configuration: logging) else { throw error }
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

  func makeEndpoint(
    registry: Registry, log: RequestLog?, recorder: RequestRecorder
  ) throws(RegistryError) -> Endpoint? {
    guard var endpoint else { return nil }
    if let log, endpoint.logRefusal == nil { endpoint.logRefusal = { line in log.log(.warn, line) } }
    var line: (@Sendable (RequestSnapshot) -> String)?
    var routes: [EndpointRoute] = []
    if servesLog, let log {
      line = { String(decoding: log.lines(of: [$0], byteLimit: .max), as: UTF8.self) }
      routes = [.logs(of: log), .requests(of: recorder, as: log)]
    }
    routes += EndpointRoute.page(of: recorder, line: line)
    return try Endpoint(configuration: endpoint, registry: registry, further: routes)
  }
}

extension Tap.Configuration {
  /// Takes away all signals, if the environment says so (OpenTelemetry, "Environment Variable Specification",
  /// `OTEL_SDK_DISABLED`): whatever the code sets, nothing is observed, logged, traced or served. The app
  /// runs.
  mutating func obeyDisabling() {
    guard isDisabled else { return }
    warnings.append("OTEL_SDK_DISABLED is 'true': nothing is observed, logged or served")
    (endpoint, log, servesLog, tracer, blackBox) = (nil, nil, false, nil, nil)
    (observers, assignments) = ([], [])
    (outbound.filter, inbound.filter) = ({ _ in false }, { _ in false })
  }

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
