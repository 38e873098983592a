import Dispatch
public import TapCore

extension EndpointRoute {
  /// The metrics of a registry, in the format and coding that the scraper asks for.
  ///
  /// `name[]` in the query, as often as one likes, limits the answer to the families of these names. Scrapes
  /// that arrive together share one gathering. The route counts itself in the registry, as
  /// `session_tap_scrapes_total`, `session_tap_scrape_duration_seconds` and `session_tap_scrapes_in_flight`.
  ///
  /// - Parameters:
  ///   - registry: what is shown.
  ///   - path: where.
  /// - Throws: `RegistryError` if one of these three names is taken by something else.
  public static func metrics(
    of registry: Registry, at path: String = "/metrics"
  ) throws(RegistryError) -> EndpointRoute {
    let metrics = try ScrapeMetrics(registry)
    let queue = DispatchQueue(label: "session-tap.scrapes", qos: .utility)
    let scrapes = ScrapeHandler(registry: registry) { work in queue.async(execute: work) }
    return EndpointRoute(
      path,
      deferred: { request, complete in
        let start = ContinuousClock.now
        metrics.inFlight.increment()
        let names = request.queryItems.filter { $0.name == "name[]" }.map(\.value)
        scrapes.scrape(
          accept: request.headers.combined("Accept"),
          acceptEncoding: request.headers.combined("Accept-Encoding"),
          names: names.isEmpty ? nil : Set(names)
        ) { answer in
          let time = start.duration(to: .now)
          // Nobody waits any more if the endpoint has answered 503 for the deadline, or the client is gone.
          complete(response(answer)) { isSent in
            metrics.inFlight.decrement()
            metrics.ended(code: isSent ? 200 : 503, format: answer.format, after: time)
          }
        }
      })
  }

  private static func response(_ answer: ScrapeAnswer) -> EndpointResponse {
    var headers: EndpointHeaders = [
      "Content-Type": answer.contentType, "Vary": "Accept, Accept-Encoding", "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
    ]
    if let coding = answer.contentEncoding { headers["Content-Encoding"] = coding }
    return EndpointResponse(headers: headers, body: .bytes(answer.bytes))
  }
}
