import Foundation
import SessionTap

// Each way to call SessionTap that its documentation shows, as a user writes it. Compiled, never run.

func start() async throws {
  let tap = try Tap.start()
  await tap.shutdown()
  await tap.runUntilTerminated()
  try await tap.runUntilTerminated { try await work() }
  _ = Tap.Configuration(environment: [:])
}

func configure() async throws -> Tap {
  var configuration = Tap.Configuration()
  configuration.log = .file("/var/log/app/http.jsonl")
  configuration.log = .standardOutput
  configuration.log = .standardError
  configuration.logging.fields = ["region": "eu"]
  configuration.servesLog = true
  configuration.endpoint = .init(address: .loopback(port: 0))
  configuration.routes = [EndpointRoute("/version") { _ in .text("1") }]
  configuration.outbound.durationBuckets = [0.1, 1, 10]
  configuration.outbound.bodySizeBuckets = .bytes
  configuration.outbound.phaseBuckets = [0.1, 1]
  configuration.outbound.roundTripBuckets = [0.001, 0.1]
  configuration.outbound.series.limit = 100
  configuration.outbound.pathTemplates = ["/users/{id}"]
  configuration.outbound.filter = .hosts(["api.example.com"]).and(!.paths(["/health"])).and(
    .clients(["users"]))
  configuration.inbound.filter = RequestFilter { request in request.method != "OPTIONS" }
  configuration.inbound.pathTemplates = ["/users/{id}"]
  configuration.knownMethods = ["GET", "POST"]
  configuration.exemplars = .all
  configuration.sessions.waitingLimit = .seconds(30)
  configuration.observers = [Errors()]
  configuration.target = TargetInfo(serviceName: "shop", resourceAttributes: nil)
  configuration.exposesProcess = false
  configuration.keepsPageHistory = false
  configuration.shutdownDeadline = .seconds(1)
  configuration.whenAddressInUse = .retry(every: .seconds(5))
  configuration.readinessChecks["database"] = { nil }
  configuration.isQuiet = true
  let tap = try Tap(configuration, registry: Registry())
  tap.readiness.add("cache") { nil }
  try tap.start()
  return try Tap.start(configuration)
}

/// An observer that takes no notice of starts.
struct Errors: RequestObserver {
  func requestEnded(_ observation: RequestObservation) {}
}

func observe(_ tap: Tap, _ url: URL, header: String?) async throws {
  let session = tap.session(client: "users")
  _ = tap.session(client: "users", configuration: .ephemeral, delegate: nil, delegateQueue: nil)
  _ = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "users"))
  let (data, response) = try await session.data(for: .traced(url))
  _ = (data, response)
  var request = URLRequest(url: url).traced()
  request.setTrace()
  try await tap.inbound.withRequest(method: "GET", path: "/users/42", traceparent: header) { request in
    try await work()
    request.end(statusCode: 200, route: "/users/{id}")
  }
  try await tap.outbound.withRequest(client: "search", method: "GET", url: "https://search.example.com/") {
    request in
    _ = (request.trace.traceparent, TraceContext.current)
    try await work()
    request.end(statusCode: 200, responseBodySize: 512)
  }
  let delivered: Bool = await tap.flush(within: .seconds(5))
  _ = delivered
}

func measure(_ registry: Registry, _ url: URL) async throws {
  let histogram = try registry.histogram("job_seconds", help: "Duration of jobs.")
  let data = try histogram.measure { try Data(contentsOf: url) }
  let (other, _) = try await histogram.measure { try await URLSession.shared.data(from: url) }
  _ = data == other
}

func test(_ url: URL) async throws {
  let tap = try Tap.testing()
  let other = try Tap.testing { $0.outbound.pathTemplates = ["/users/{id}"] }
  _ = try await tap.session(client: "users").data(for: .traced(url))
  let requests: [RequestObservation] = tap.recordedRequests()
  let count: Double? = tap.registry.value(
    of: "http_client_request_duration_seconds_count", labels: ["client": "users"])
  _ = (requests, count, other, URLSessionTap.readsTransferInfo)
}

private func work() async throws {}
