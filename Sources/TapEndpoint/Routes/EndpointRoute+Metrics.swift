import Synchronization
package import TapCore

extension EndpointRoute {
  /// Makes a route that serves the metrics of a registry, in the format and coding that the scraper asks for.
  /// `name[]` in the query limits the answer to families with these names. The route records itself in the
  /// registry, and throws if one of its names is taken.
  package static func metrics(of registry: Registry) throws(RegistryError) -> EndpointRoute {
    let scrapes = try ScrapeMetrics(registry)
    let thread = HandlerThreads(limit: 1)
    let handler = ScrapeHandler(registry: registry, perform: thread.perform)
    let scrape = Handler.deferred { request, complete in
      handler.scrape(
        accept: request.headers.combined("Accept"),
        acceptEncoding: request.headers.combined("Accept-Encoding"), names: request.familyNames
      ) { answer in
        guard let answer else { return complete(.refusal(503, "the system has no thread for the scrape")) }
        var response = EndpointResponse.uncached(answer.contentType, answer.body)
        response.headers["Vary"] = "Accept, Accept-Encoding"
        response.headers["Content-Encoding"] = answer.contentEncoding
        complete(response)
      }
    }
    return EndpointRoute("/metrics", isPublic: true, scrapes: scrapes, scrape)
  }
}

extension EndpointRequest {
  /// The names in the query; `nil` for all families.
  fileprivate var familyNames: Set<String>? {
    let names = queryItems.filter { $0.name == "name[]" }.map(\.value)
    return names.isEmpty ? nil : Set(names)
  }
}

struct ScrapeMetrics: Sendable {
  private struct Labels: LabelSet {
    let code: Int
    let format: ExpositionFormat?

    static var labels: [Label<Labels>] { [Label("code", \.code), Label("format", \.format?.rawValue)] }
  }

  private let scrapes: Family<Labels, Registry.Counter>
  private let duration: Registry.Histogram
  private let inFlight: Registry.Gauge

  init(_ registry: Registry) throws(RegistryError) {
    scrapes = try registry.counter(
      "session_tap_scrapes_total",
      help:
        "Scrapes by the status of the answer: 503 if there were too many, it took too long, or too much is unsent.",
      by: Labels.self)
    duration = try registry.histogram(
      "session_tap_scrape_duration_seconds", help: "Time from a scrape's request to its answer.",
      unit: "seconds", buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1])
    inFlight = try registry.gauge(
      "session_tap_scrapes_in_flight", help: "Scrapes that wait for their answer.")
  }

  func started() { inFlight.increment() }

  /// Counts a scrape that was started.
  /// - Parameter response: `nil` if it came too late, or for a client that had left.
  func ended(with response: EndpointResponse?, isSent: Bool, after time: Duration) {
    inFlight.decrement()
    duration.record(time)
    let type = response?.headers["Content-Type"]
    // Behind it may be the escaping.
    let format = ExpositionFormat.allCases.first { type?.hasPrefix($0.contentType) == true }
    scrapes[Labels(code: isSent ? response?.status ?? 503 : 503, format: format)].increment()
  }

  func refused() { scrapes[Labels(code: 503, format: nil)].increment() }
}

/// Counts the handlers that outlive their requests, by the path of their route.
final class OverdueHandlers: Collector {
  private let counts = Mutex<[String: Int]>([:])

  func change(by change: Int, at path: String) { counts.withLock { $0[path, default: 0] += change } }

  func collect() -> [MetricFamily] {
    let samples = counts.withLock { $0 }.map { path, count in
      MetricFamily.Sample(labels: ["path": path], value: Double(count))
    }
    return [
      MetricFamily(
        name: "session_tap_overdue_handlers",
        help:
          "Handlers of routes that run although their request is over: its deadline has passed, or its client is gone.",
        kind: .gauge, samples: samples)
    ]
  }
}
