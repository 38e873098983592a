public import TapCore

extension EndpointRoute {
  /// Makes a route that serves the metrics of a registry, in the format and coding that the scraper asks for.
  ///
  /// `name[]` in the query, which may be repeated, limits the answer to families with these names. Scrapes
  /// that arrive together share one gathering. The route records itself in the registry:
  /// `session_tap_scrapes_total`, `session_tap_scrape_duration_seconds` and `session_tap_scrapes_in_flight`.
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
      "session_tap_scrapes_total",
      help: "Scrapes that were answered, or were not: too late, or too much is unsent (503).",
      by: ScrapeLabels.self)
    let duration = try registry.histogram(
      "session_tap_scrape_duration_seconds", help: "Time from a scrape's request to its answer.",
      unit: "seconds",
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1])
    let inFlight = try registry.gauge(
      "session_tap_scrapes_in_flight", help: "Scrapes that wait for their answer.")
    let thread = HandlerThreads(limit: 1)
    let handler = ScrapeHandler(registry: registry, createdSamples: createdSamples, perform: thread.perform)
    let scrape = Handler.scrape { request, complete in
      let start = ContinuousClock.now
      inFlight.increment()
      handler.scrape(
        accept: request.headers.combined("Accept"),
        acceptEncoding: request.headers.combined("Accept-Encoding"), names: request.familyNames
      ) { answer in
        let time = start.duration(to: .now)
        var headers: EndpointHeaders = [
          "Content-Type": answer.format.contentType, "Vary": "Accept, Accept-Encoding",
          "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
        ]
        headers["Content-Encoding"] = answer.contentEncoding
        complete(EndpointResponse(headers: headers, body: answer.bytes)) { isSent in
          inFlight.decrement()
          scrapes[ScrapeLabels(code: isSent ? 200 : 503, format: answer.format.rawValue)].increment()
          duration.record(time)
        }
      }
    }
    var route = EndpointRoute(path, ["GET"], scrape)
    route.isPublic = true
    return route
  }

  private struct ScrapeLabels: LabelSet {
    let code: Int
    let format: String

    static var labels: [Label<ScrapeLabels>] { [Label("code", \.code), Label("format", \.format)] }
  }
}

extension EndpointRequest {
  /// Those of the query; `nil` for all families.
  fileprivate var familyNames: Set<String>? {
    let names = queryItems.filter { $0.name == "name[]" }.map(\.value)
    return names.isEmpty ? nil : Set(names)
  }
}
