import Foundation
import SessionTap
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The tap itself, its sessions, and what its requests say of themselves.
extension ExtremeGroup {
  private struct SilentObserver: RequestObserver {
    func requestStarted(_ request: RequestDescription) {}
    func requestEnded(_ observation: RequestObservation) {}
  }

  private static let counts: Extremes.Values<Int> = [("no element", 0), ("100,000 elements", 100_000)]

  static var tapExtremes: [Extreme] {
    let environment = [
      "OTEL_EXPORTER_PROMETHEUS_HOST", "OTEL_EXPORTER_PROMETHEUS_PORT", "OTEL_SERVICE_NAME",
      "OTEL_RESOURCE_ATTRIBUTES", "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", "SESSION_TAP_LOG",
    ].flatMap { variable in
      let values =
        Extremes.strings + Extremes.integers.map { ($0.name, String($0.value)) }
        + [(",", ","), ("=", "="), ("100,000 elements", String(repeating: "a=b,", count: 100_000))]
      return Extreme.each(
        "Tap.Configuration.init(environment:)", values.map { ("\(variable): \($0.name)", $0.value) }
      ) { trial, value in
        let port = ["OTEL_EXPORTER_PROMETHEUS_PORT": "0"]
        trial.configuration = Tap.Configuration(environment: port.merging([variable: value]) { $1 })
        // The port by default may be in use.
        if variable == "OTEL_EXPORTER_PROMETHEUS_PORT" {
          trial.configuration.endpoint?.address = .loopback(port: 0)
        }
        trial.logFile = variable == "SESSION_TAP_LOG" ? value : ""
      }
    }
    let observers =
      Extreme.each("Tap.Configuration.observers", counts) { trial, count in
        trial.configuration.observers = Array(repeating: SilentObserver(), count: count)
      }
    let log =
      Extreme.eachWhileRunning("Tap.log(_:_:_:)", Extremes.strings) { $0.tap.log(.info, $1) }
      + Extreme.eachWhileRunning("Tap.log(_:_:_:)", Extremes.fields) { $0.tap.log(.info, "", $1) }
    return environment + observers + log
      + Extreme.each("Tap.Configuration.shutdownDeadline", Extremes.durations) {
        $0.configuration.shutdownDeadline = $1
      }
      + Extreme.each("Tap.AddressInUsePolicy.retry(every:)", Extremes.durations) {
        $0.configuration.whenAddressInUse = .retry(every: $1)
      }
      + Extreme.each("TargetInfo.init(serviceName:resourceAttributes:)", Extremes.strings) {
        $0.configuration.target = TargetInfo(serviceName: $1, resourceAttributes: $1)
      }
      + Extreme.each("TargetInfo.init(serviceName:resourceAttributes:)", Extremes.lists) {
        $0.configuration.target = TargetInfo(
          serviceName: nil, resourceAttributes: $1.map { "\($0)=value" }.joined(separator: ","))
      }
  }

  static var requestExtremes: [Extreme] {
    let sessions =
      Extreme.each("Tap.sessionConfiguration(from:client:)", Extremes.strings) { $0.client = $1 }
      + Extreme.each("Tap.sessionConfiguration(from:client:)", [("1,000 clients", 1_000)]) { trial, count in
        trial.whileRunning = { running in
          for number in 0..<count {
            _ = running.tap.sessionConfiguration(from: .ephemeral, client: "client-\(number)")
          }
        }
      }
      + Extreme.each("Tap.install(on:client:)", Extremes.strings) { trial, client in
        trial.requests = 2
        trial.whileRunning = { running in
          let session = URLSession(configuration: .ephemeral)
          running.tap.install(on: session, client: client)
          try await running.request(session)
        }
      }
    let filters =
      Extreme.each("RequestFilter.hosts(_:)", Extremes.sets) { trial, hosts in
        trial.configuration.requests.filter = .hosts(hosts)
        trial.requests = nil
      }
      + Extreme.each("RequestFilter.paths(_:)", Extremes.lists) { trial, prefixes in
        trial.configuration.requests.filter = .paths(prefixes)
        trial.requests = nil
      }
    let contexts =
      Extreme.each("TapRequestContext.urlTemplate", Extremes.strings) {
        $0.context = TapRequestContext(urlTemplate: $1)
      }
      + Extreme.each("TapRequestContext.fields", Extremes.fields) {
        $0.context = TapRequestContext(fields: $1)
      }
      + Extreme.each("TraceContext.init(traceparent:)", Extremes.strings) {
        $0.context = TapRequestContext(traceContext: TraceContext(traceparent: $1))
      }
    // A challenge that is not answered, for it is the time until it is reported.
    let waiting = Extreme.each(
      "URLSessionTap.Configuration.waitingLimit", Extremes.optional(Extremes.durations)
    ) { trial, limit in
      trial.configuration.requests.waitingLimit = limit
      trial.requests = 2
      trial.whileRunning = { running in
        let session = URLSession(
          configuration: running.tap.sessionConfiguration(from: .ephemeral, client: "waits"))
        let done = Gate()
        let task = session.dataTask(with: running.origin.url("/challenge")) { _, _, _ in done.open() }
        task.resume()
        _ = try await Poll.until("response") { task.response }
        task.cancel()
        try await done.wait("the end of a challenged task")
        session.finishTasksAndInvalidate()
      }
    }
    let templates =
      Extreme.each("PathTemplates.init(_:)", pathTemplates) {
        $0.configuration.requests.pathTemplates = PathTemplates($1)
        $0.configuration.logOptions.redaction.allowedPaths = PathTemplates($1)
      }
      + Extreme.eachWhileRunning("PathTemplates.template(for:)", Extremes.strings) {
        _ = PathTemplates(["/users/{id}", "/*"]).template(for: $1)
      }
    return sessions + filters + contexts + waiting + templates
  }

  private static let pathTemplates: Extremes.Values<[String]> =
    Extremes.lists + [
      ("one of 500,000 segments", [String(repeating: "/a", count: 500_000)]),
      ("100,000 parameters", (0..<100_000).map { "/users/{id\($0)}" }),
      ("only a star", ["*"]), ("a colon for a brace", ["/users/:id"]), ("an open brace", ["/users/{id"]),
    ]
}
