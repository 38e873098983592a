import Foundation
import SessionTap
import TestSupport

/// Metrics, and the requests that the app serves.
extension ExtremeGroup {
  static var inboundExtremes: [Extreme] {
    func begin(_ parameter: String, _ make: @escaping @Sendable (InboundRequests, String) -> ActiveRequest)
      -> [Extreme]
    {
      Extreme.eachWhileRunning(
        "InboundRequests.begin(method:path:scheme:traceparent:clientAddress:fields:)",
        Extremes.strings.map { ("\(parameter): \($0.name)", $0.value) }
      ) { make($0.tap.inbound, $1).end(statusCode: 200) }
    }
    func end<Value: Sendable>(
      _ function: String, _ values: Extremes.Values<Value>,
      _ end: @escaping @Sendable (ActiveRequest, Value) -> Void
    ) -> [Extreme] {
      Extreme.eachWhileRunning("ActiveRequest.\(function)", values) {
        end($0.tap.inbound.begin(method: "GET", path: "/"), $1)
      }
    }
    let ends = "end(statusCode:route:requestBodySize:responseBodySize:)"
    let fails = "fail(_:message:statusCode:route:requestBodySize:responseBodySize:)"
    return begin("method") { $0.begin(method: $1, path: "/") }
      + begin("path") { $0.begin(method: "GET", path: $1) }
      + begin("scheme") { $0.begin(method: "GET", path: "/", scheme: $1) }
      + begin("traceparent") { $0.begin(method: "GET", path: "/", traceparent: $1) }
      + begin("clientAddress") { $0.begin(method: "GET", path: "/", clientAddress: $1) }
      + Extreme.eachWhileRunning(
        "InboundRequests.begin(method:path:scheme:traceparent:clientAddress:fields:)", Extremes.fields
      ) { $0.tap.inbound.begin(method: "GET", path: "/", fields: $1).end(statusCode: 200) }
      + end(ends, Extremes.integers) {
        $0.end(statusCode: $1, route: "/", requestBodySize: $1, responseBodySize: $1)
      }
      + end(ends, Extremes.strings) { $0.end(statusCode: 200, route: $1) }
      + end(fails, Extremes.integers) {
        $0.fail(.timeout, statusCode: $1, requestBodySize: $1, responseBodySize: $1)
      }
      + end(fails, Extremes.strings) { $0.fail(message: $1, route: $1) }
      + end("cancel(route:)", Extremes.strings) { $0.cancel(route: $1) }
      + end("add(_:)", Extremes.fields) { $0.add($1) }
      + outboundExtremes
  }

  private static var outboundExtremes: [Extreme] {
    let begin = "OutboundRequests.begin(client:method:url:urlTemplate:trace:fields:)"
    func make<Value: Sendable>(
      _ values: Extremes.Values<Value>, _ make: @escaping @Sendable (OutboundRequests, Value) -> ActiveRequest
    ) -> [Extreme] {
      Extreme.each(begin, values) { trial, value in
        // One more than those that the trial makes.
        trial.requests = nil
        trial.whileRunning = { make($0.tap.outbound, value).end(statusCode: 200) }
      }
    }
    return make(Extremes.strings) { $0.begin(client: $1, method: $1, url: $1, urlTemplate: $1) }
      + make(Extremes.fields) { $0.begin(client: "c", method: "GET", url: "http://h/", fields: $1) }
  }

  static var metricsExtremes: [Extreme] {
    let methods =
      Extreme.each("RequestMetrics.Configuration.knownMethods", Extremes.lists) {
        $0.configuration.metrics.knownMethods = $1
      }
      + Extreme.each("RequestMetrics.Configuration.knownMethods", Extremes.lists) {
        $0.configuration.inbound.knownMethods = $1
      }
    let series =
      Extreme.each("SeriesOptions.limit", Extremes.integers) { trial, limit in
        setSeries(&trial, SeriesOptions(limit: limit))
      }
      + Extreme.each("SeriesOptions.idleExpiry", Extremes.optional(Extremes.durations)) { trial, expiry in
        setSeries(&trial, SeriesOptions(idleExpiry: expiry))
        // What has ended may have expired before the scrape.
        trial.requests = nil
      }
    func buckets<Value: Sendable>(
      _ setting: String, _ values: Extremes.Values<Value>,
      _ make: @escaping @Sendable (Value) -> HistogramBuckets
    ) -> [Extreme] {
      Extreme.each(setting, values) { trial, value in
        let buckets = make(value)
        trial.configuration.metrics.durationBuckets = buckets
        trial.configuration.metrics.bodySizeBuckets = buckets
        trial.configuration.inbound.durationBuckets = buckets
        trial.configuration.inbound.bodySizeBuckets = buckets
      }
    }
    let exponential = "HistogramBuckets.exponential(from:factor:count:)"
    let linear = "HistogramBuckets.linear(from:width:count:)"
    return methods + series
      + buckets("HistogramBuckets.init(_:)", Extremes.buckets) { HistogramBuckets($0) }
      + buckets(exponential, Extremes.doubles) { .exponential(from: $0, factor: 2, count: 10) }
      + buckets(exponential, Extremes.doubles) { .exponential(from: 1, factor: $0, count: 10) }
      + buckets(exponential, Extremes.integers) { .exponential(from: 1, factor: 2, count: $0) }
      + buckets(linear, Extremes.doubles) { .linear(from: $0, width: 1, count: 10) }
      + buckets(linear, Extremes.doubles) { .linear(from: 1, width: $0, count: 10) }
      + buckets(linear, Extremes.integers) { .linear(from: 1, width: 1, count: $0) }
  }

  private static func setSeries(_ trial: inout ExtremeTrial, _ options: SeriesOptions) {
    trial.configuration.metrics.series = options
    trial.configuration.inbound.series = options
    trial.whileRunning = { running in
      let family = try running.tap.registry.gauge(
        "jobs", help: "Jobs.", by: ExtremeLabels.self, options: options)
      for number in 0..<10 { family[ExtremeLabels(value: "\(number)")].set(number) }
    }
  }
}

/// A label set whose name is chosen when it is registered.
struct ExtremeLabels: LabelSet {
  @TaskLocal static var name = "job"
  var value: String

  static var labels: [Label<ExtremeLabels>] { [Label(name, \.value)] }
}
