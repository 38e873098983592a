import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import Logging

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
#if canImport(Prometheus)
  import Metrics
  import Prometheus
#endif

// The app beside this one without a tap. Without an upstream it is the upstream, and answers with the trace
// that it was sent.
let upstream = CommandLine.arguments.dropFirst().first
let users = URLSession(configuration: .default)
let traceparent = HTTPField.Name("traceparent")

let router = Router()
// The other way to metrics and a line for each request: Hummingbird's own middlewares. Where swift-prometheus
// is not built in, the metrics are recorded nowhere, and there are none to scrape.
if ProcessInfo.processInfo.environment["MIDDLEWARES"] != nil {
  LoggingSystem.bootstrap { StreamLogHandler.standardOutput(label: $0) }
  #if canImport(Prometheus)
    let registry = PrometheusCollectorRegistry()
    MetricsSystem.bootstrap(PrometheusMetricsFactory(registry: registry))
    router.get("metrics") { _, _ in registry.emitToString() }
  #endif
  router.add(middleware: MetricsMiddleware())
  router.add(middleware: LogRequestsMiddleware(.info))
}
router.get("hello") { _, _ in "Hello" }
router.get("users/{id}") { request, context in
  let id = try context.parameters.require("id", as: Int.self)
  guard let upstream, let url = URL(string: "\(upstream)/users/\(id)") else {
    return ByteBuffer(string: traceparent.flatMap { request.headers[$0] } ?? "")
  }
  let (user, _) = try await users.data(from: url)
  return ByteBuffer(bytes: user)
}
// With AsyncHTTPClient, so that it differs from the other program by the tap alone.
router.get("users/{id}/orders") { request, context in
  let id = try context.parameters.require("id", as: Int.self)
  guard let upstream else { return ByteBuffer(string: traceparent.flatMap { request.headers[$0] } ?? "") }
  let response = try await HTTPClient.shared.execute(
    HTTPClientRequest(url: "\(upstream)/users/\(id)/orders"), timeout: .seconds(5))
  return try await response.body.collect(upTo: 1 << 20)
}

let port = ProcessInfo.processInfo.environment["PORT"].flatMap { Int($0) } ?? 8080
try await Application(router: router, configuration: .init(address: .hostname(port: port))).runService()
