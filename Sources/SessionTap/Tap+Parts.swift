import TapCore
import TapEndpoint
import TapLog
import TapURLSession

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
  func makeRequests() -> URLSessionTap.Configuration {
    var requests = requests
    let redaction = logOptions.redaction
    if !redaction.allowedRequestHeaders.isEmpty || !redaction.allowedResponseHeaders.isEmpty {
      requests.collectsHeaders = true
    }
    return requests
  }

  /// The endpoint, if there is to be one: the routes of every tap, and the app's own.
  func makeEndpoint(log: RequestLog?) throws(RegistryError) -> Endpoint? {
    guard var endpoint else { return nil }
    if let log, endpoint.logRefusal == nil {
      endpoint.logRefusal = { line in log.log(.warn, line) }
    }
    let servedLog = servesLog ? log : nil
    var builtIn: [EndpointRoute] = [
      try .metrics(of: registry), .liveness(), .readiness(readiness), .page(showsLog: servedLog != nil),
    ]
    if let servedLog { builtIn.append(.logs(of: servedLog)) }
    return Endpoint(configuration: endpoint, routes: builtIn + routes)
  }
}
