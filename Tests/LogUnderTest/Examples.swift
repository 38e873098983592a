import TapCore
import TapLog
import TestSupport

/// A short log with lines of every kind, for the programs that read logs.
struct Examples {
  let path: String

  func run() throws {
    var configuration = RequestLog.Configuration()
    configuration.fields = ["service.name": "shop"]
    let log = try RequestLog(to: .file(path), configuration: configuration)
    log.log(.info, "cache warmed", ["entries": 42])
    // As long as a line gets, and not all of it plain.
    log.log(.debug, String(repeating: "ü \"quoted\"\n", count: 1_000))
    let ends: [RequestEnd] = [
      .response(statusCode: 200), .response(statusCode: 404), .response(statusCode: 503),
      .failure(.dns, statusCode: nil), .cancelled,
    ]
    for (index, end) in ends.enumerated() {
      let observation = with(RequestObservation.example) {
        ($0.request.method, $0.request.urlTemplate) = (index == 1 ? "BREW" : "GET", "/v1/users/{id}")
        ($0.start, $0.duration) = (.now, .milliseconds(10 * (index + 1)))
        ($0.end, $0.resendCount) = (end, index)
      }
      if index == 0 { log.requestWaits(RequestSnapshot(observation.request, for: .seconds(60))) }
      log.requestEnded(observation)
    }
    log.requestEnded(
      RequestObservation(
        request: RequestDescription(
          direction: .inbound, method: "GET", url: "/orders/7?token=s3cret", urlTemplate: "/orders/{id}",
          scheme: "http",
          traceContext: TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01")),
        start: .now, duration: .milliseconds(90), end: .response(statusCode: 200), responseBodySize: 100))
    log.shutdown()
  }
}
