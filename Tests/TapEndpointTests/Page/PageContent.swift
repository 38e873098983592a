import TapCore
import TapEndpoint
import TestSupport

/// Requests for the page to draw, and a look at it.
struct PageContent: Sendable {
  let registry = Registry()
  let metrics: RequestDriver

  init() throws {
    metrics = try RequestDriver(registry: registry)
  }

  func request(client: String = "payments", host: String, template: String = "/users/{id}")
    -> RequestDescription
  {
    RequestDescription(
      client: client, method: "GET", url: "https://\(host)/", serverAddress: host, serverPort: 443,
      urlTemplate: template)
  }

  func record(
    _ count: Int, _ request: RequestDescription, _ duration: Duration, _ end: RequestEnd,
    phases: [RequestTimings.Phase: Duration] = [:], opened: Int? = nil
  ) {
    var timings = RequestTimings()
    for (phase, time) in phases { timings[phase] = time }
    for _ in 0..<count {
      metrics.requestStarted(request)
      metrics.requestEnded(
        RequestObservation(
          request: request, start: .now, duration: duration, end: end, timings: timings,
          openedConnections: opened))
    }
  }

  /// Opens the page in a browser.
  func show(log: String? = nil, _ body: (Browser, _ port: Int) async throws -> Void) async throws {
    var routes = [try EndpointRoute.metrics(of: registry), .page(showsLog: log != nil)]
    if let log {
      // What an app serves where the page looks for the last lines of its log.
      routes.append(
        EndpointRoute("/logs", immediate: { _ in EndpointResponse(body: .bytes(Array(log.utf8))) }))
    }
    try await withEndpoint(routes: routes) { port in
      try await Browser.use { browser in
        try await browser.show(width: 1280)
        try await browser.open("http://127.0.0.1:\(port)/")
        try await body(browser, port)
      }
    }
  }
}
