import Dispatch
public import TapCore

extension EndpointRoute {
  /// Makes a route that serves the metrics of a registry, in the format and coding that the scraper asks for.
  ///
  /// `name[]` in the query, which may be repeated, limits the answer to families with these names. Scrapes
  /// that arrive together share one gathering. The route records itself in the registry:
  /// `session_tap_scrapes_total`, `session_tap_scrape_duration_seconds` and `session_tap_scrapes_in_flight`.
  /// It also records handlers of the endpoint's routes that outlive their requests:
  /// `session_tap_overdue_handlers`.
  ///
  /// - Parameters:
  ///   - registry: the metrics.
  ///   - path: the path of the route.
  ///   - createdSamples: whether OpenMetrics has a sample `_created`, the time when a series began, for each
  ///     counter and histogram. Servers store each as a series of its own.
  /// - Throws: `RegistryError` if one of these names is taken by something else.
  public static func metrics(
    of registry: Registry, at path: String = "/metrics", createdSamples: Bool = false
  ) throws(RegistryError) -> EndpointRoute {
    let scrapes = try registry.counter(
      "session_tap_scrapes_total", help: "Scrapes that were answered, or too late (503).",
      by: ScrapeLabels.self)
    let duration = try registry.histogram(
      "session_tap_scrape_duration_seconds", help: "Time from a scrape's request to its answer.",
      unit: "seconds",
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1])
    let inFlight = try registry.gauge(
      "session_tap_scrapes_in_flight", help: "Scrapes that wait for their answer.")
    let overdue = try registry.gauge(
      "session_tap_overdue_handlers",
      help:
        "Handlers of routes that run although their request is over: its deadline has passed, or its client is gone.",
      by: RouteLabels.self)
    let queue = DispatchQueue(label: "session-tap.scrapes", qos: .utility)
    let handler = ScrapeHandler(registry: registry, createdSamples: createdSamples) { work in
      queue.async(execute: work)
    }
    var route = EndpointRoute(
      path,
      deferred: { request, complete in
        let start = ContinuousClock.now
        inFlight.increment()
        let names = request.queryItems.filter { $0.name == "name[]" }.map(\.value)
        handler.scrape(
          accept: request.headers.combined("Accept"),
          acceptEncoding: request.headers.combined("Accept-Encoding"),
          names: names.isEmpty ? nil : Set(names)
        ) { answer in
          let time = start.duration(to: .now)
          var headers: EndpointHeaders = [
            "Content-Type": answer.format.contentType, "Vary": "Accept, Accept-Encoding",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
          ]
          headers["Content-Encoding"] = answer.contentEncoding
          // It is not sent if the endpoint has answered 503 at the deadline, or the client has gone.
          complete(EndpointResponse(headers: headers, body: answer.bytes)) { isSent in
            inFlight.decrement()
            scrapes[ScrapeLabels(code: isSent ? 200 : 503, format: answer.format.rawValue)].increment()
            duration.record(time)
          }
        }
      })
    route.isPublic = true
    route.countOverdue = { change, path in overdue[RouteLabels(path: path)].increment(by: change) }
    return route
  }

  private struct ScrapeLabels: LabelSet {
    let code: Int
    let format: String

    static var labels: [Label<ScrapeLabels>] { [Label("code", \.code), Label("format", \.format)] }
  }

  private struct RouteLabels: LabelSet {
    let path: String

    static var labels: [Label<RouteLabels>] { [Label("path", \.path)] }
  }
}
