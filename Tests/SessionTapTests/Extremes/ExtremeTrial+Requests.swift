import SessionTap
import TestSupport

/// The table: requests that no session makes, and their metrics.
extension ExtremeTrial {
  static var metrics: [Self] {
    func change<Value: Sendable>(
      _ setting: String, at values: NamedValues<Value>,
      _ change: @escaping @Sendable (inout RequestConfiguration, Value) -> Void
    ) -> [Self] {
      start(setting, at: values) { setup, value in
        change(&setup.configuration.outbound, value)
        change(&setup.configuration.inbound, value)
      }
    }
    func buckets<Value: Extremal>(
      _ setting: String, _ make: @escaping @Sendable (Value, _ count: Int) -> [HistogramBuckets]
    ) -> [Self] {
      use(setting) { run, value in
        for count in Int.extremes { for some in make(value, count.value) { try record(in: some, run) } }
      }
    }
    let single: NamedValues<[Double]> = Double.extremes.map { ("an element: \($0.name)", [$0.value]) }
    let some: NamedValues<[Double]> = [
      ("no element", []), ("all", Double.extremes.map(\.value)), ("falling", [2, 1]), ("equal", [1, 1]),
      ("only infinities", [.infinity, .infinity]), ("NaN inside", [1, .nan, 2]),
      ("far", [-.greatestFiniteMagnitude, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude]),
    ]
    // A type checker takes long over all of these at once.
    let long = [("256", 256), ("257", 257), ("many", manyElements)]
    let lists = single + some + long.map { ($0.0, (0..<$0.1).map(Double.init)) }
    return change("HistogramBuckets.init(_:)", at: lists) {
      $0.durationBuckets = HistogramBuckets($1)
      $0.roundTripBuckets = HistogramBuckets($1)
      $0.bodySizeBuckets = HistogramBuckets($1)
    }
      + use("HistogramBuckets.init(_:)", at: lists) { try record(in: HistogramBuckets($1), $0) }
      + buckets("HistogramBuckets.exponential(from:factor:count:)") { (value: Double, count) in
        [
          .exponential(from: value, factor: value, count: count),
          .exponential(from: 1, factor: value, count: count),
          .exponential(from: value, factor: 2, count: count), .exponential(from: value, factor: 2, count: 10),
          .exponential(from: 1, factor: value, count: 10),
        ]
      }
      + buckets("HistogramBuckets.linear(from:width:count:)") { (value: Double, count) in
        [
          .linear(from: value, width: value, count: count), .linear(from: 0, width: value, count: count),
          .linear(from: value, width: 1, count: count), .linear(from: value, width: 1, count: 10),
          .linear(from: 1, width: value, count: 10),
        ]
      }
      + change("SeriesConfiguration.limit", at: Int.extremes) { $0.series.limit = $1 }
      + use("SeriesConfiguration.limit") { run, limit in
        for expiry in Duration?.extremes {
          try scrape(SeriesConfiguration(limit: limit, idleExpiry: expiry.value), run)
        }
      }  // What has ended may have expired before the scrape.
      + start("SeriesConfiguration.idleExpiry", at: Duration?.extremes) {
        $0.configuration.outbound.series.idleExpiry = $1
        $0.configuration.inbound.series.idleExpiry = $1
        $0.requests = nil
      }
  }

  /// A histogram has these buckets, or none.
  private static func record(in buckets: HistogramBuckets, _ run: RunningExtreme) throws {
    let registry = Registry()
    do {
      try registry.histogram("h", help: "", buckets: buckets).record(1)
    } catch {
      try run.expect(error.code == .invalidBuckets, "\(error)")
      return
    }
    try run.expect(ExtremeWalk.faults(of: registry).isEmpty, "\(buckets.upperBounds.prefix(10))")
  }

  /// What was recorded since the last scrape is shown, however short the expiry.
  private static func scrape(_ configuration: SeriesConfiguration, _ run: RunningExtreme) throws {
    let registry = Registry()
    let family = try registry.counter(
      "a_total", help: "", by: ExtremeLabels.self, configuration: configuration)
    let gauge = try registry.gauge("jobs", help: "", by: ExtremeLabels.self, configuration: configuration)
    for value in ["a", "b", "a"] {
      family[ExtremeLabels(value: value)].increment()
      gauge[ExtremeLabels(value: value)].set(1)
      let text = registry.text
      try run.expect(
        text.contains("\na_total{") && ExpositionText(text).faults.isEmpty, "the exposition is \(text)")
    }
  }

  static var inbound: [Self] {
    func begin(_ make: @escaping @Sendable (InboundRequests, String) -> ActiveRequest) -> [Self] {
      use("InboundRequests.begin(method:path:scheme:traceparent:clientAddress:fields:headers:)") {
        make($0.tap.inbound, $1).end(statusCode: 200)
      }
    }
    func end<Value: Extremal>(
      _ function: String, _ end: @escaping @Sendable (ActiveRequest, Value) -> Void
    ) -> [Self] {
      use("ActiveRequest.\(function)") { end($0.tap.inbound.begin(method: "GET", path: "/"), $1) }
    }
    let ends = "end(statusCode:route:requestBodySize:responseBodySize:responseHeaders:)"
    let fails = "fail(_:message:statusCode:route:requestBodySize:responseBodySize:responseHeaders:)"
    return end("responseBegan(statusCode:)") { (request, code: Int) in
      request.responseBegan(statusCode: code)
      request.end(statusCode: code)
    } + begin { $0.begin(method: $1, path: "/") }
      + begin { inbound, text in inbound.begin(method: "GET", path: "/", headers: { _ in text }) }
      + begin { $0.begin(method: "GET", path: $1) }
      + begin { $0.begin(method: "GET", path: "/", scheme: $1, traceparent: $1, clientAddress: $1) }
      + use("InboundRequests.begin(method:path:scheme:traceparent:clientAddress:fields:headers:)") {
        $0.tap.inbound.begin(method: "GET", path: "/", fields: $1).end(statusCode: 200)
      }
      + end(ends) { $0.end(statusCode: $1, route: "/", requestBodySize: $1, responseBodySize: $1) }
      + end(ends) { $0.end(statusCode: 200, route: $1) }
      + end(ends) { request, text in request.end(statusCode: 200, responseHeaders: { _ in text }) }
      + end(fails) { $0.fail(.timeout, statusCode: $1, requestBodySize: $1, responseBodySize: $1) }
      + end(fails) { $0.fail(message: $1, route: $1) }
      + end(fails) { request, text in request.fail(responseHeaders: { _ in text }) }
      + end("cancel(route:)") { $0.cancel(route: $1) } + end("add(_:)") { $0.add($1) }
  }

  static var outbound: [Self] {
    let begin = "OutboundRequests.begin(client:method:url:urlTemplate:trace:fields:headers:)"
    return use(begin, requests: 1) {
      $0.tap.outbound.begin(client: $1, method: $1, url: $1, urlTemplate: $1).end(statusCode: 200)
    }
      + use(begin, requests: 1) {
        $0.tap.outbound.begin(client: "c", method: "GET", url: "http://h/", fields: $1).end(statusCode: 200)
      }
      + use(begin, requests: 1) { (run, text: String) in
        run.tap.outbound.begin(client: "c", method: "GET", url: "http://h/", headers: { _ in text })
          .end(statusCode: 200)
      }
  }

  /// Requests of another client, which an app describes itself: given to the metrics and to the log.
  static var observations: [Self] {
    func observe<Value: Extremal>(
      _ setting: String, _ change: @escaping @Sendable (inout RequestObservation, Value) -> Void
    ) -> [Self] {
      use(setting) { run, value in
        var observation = example
        change(&observation, value)
        try run.record(observation)
      }
    }
    let descriptions = properties(
      of: RequestDescription.self, \.client, \.fields, \.headers, \.method, \.clientAddress, \.scheme,
      \.serverAddress, \.serverPort, \.url, \.urlTemplate
    ) { setting, changes in
      use(setting, at: changes) { run, change in
        var observation = example
        change(&observation.request)
        try run.record(observation)
      }
    }
    let ended = properties(
      of: RequestObservation.self, \.requestBodySize, \.responseBodySize, \.resendCount, \.openedConnections,
      \.retransmittedSegments, \.peerAddress, \.responseHeaders
    ) { setting, changes in
      use(setting, at: changes) { run, change in
        var observation = example
        change(&observation)
        try run.record(observation)
      }
    }
    return descriptions + ended + observe("RequestObservation.duration") { $0.duration = $1 }
      + use("RequestObservation.duration") { try line(of: $1, $0) }
      + observe("RequestObservation.timeToFirstByte") { observation, duration in
        observation.timeToFirstByte = duration
        for phase in RequestTimings.Phase.allCases { observation.timings[phase] = duration }
      }
      + observe("RequestObservation.errorMessage") { $0.errorMessage = $1 }
      + observe("RequestObservation.networkRoundTrip") { $0.networkRoundTrip = $1 }
      + observe("RequestObservation.timeToResend") { $0.timeToResend = $1 }
      + observe("RequestEnd.response(statusCode:)") { $0.end = .response(statusCode: $1) }
      + observe("RequestEnd.failure(_:statusCode:)") { $0.end = .failure(.timeout, statusCode: $1) }
      + observe("Timestamp.nanosecondsSinceEpoch") { $0.start.nanosecondsSinceEpoch = $1 }
      + observe("FieldValue.string(_:)") { $0.request.fields = ["key": .string($1)] }
      + observe("FieldValue.double(_:)") { $0.request.fields = ["key": .double($1)] }
      + observe("FieldValue.integer(_:)") { $0.request.fields = ["key": .integer($1)] }
  }

  private static let example = RequestObservation(
    request: RequestDescription(client: "other", method: "GET", url: "http://h/"), start: .now,
    duration: .seconds(1), end: .response(statusCode: 200))

  /// The line of a request, and of one that waits, has the nearest time that it can have.
  private static func line(of duration: Duration, _ run: RunningExtreme) throws {
    let configuration = with(RequestLog.Configuration()) { $0.recentLineLimit = 10 }
    let log = try RequestLog(to: .memory, configuration: configuration)
    var observation = example
    observation.duration = duration
    log.requestEnded(observation)
    log.requestWaits(RequestSnapshot(observation.request, for: duration))
    log.shutdown(within: .seconds(60))
    let nearest = min(max(duration, .zero), .nanoseconds(Int64.max))
    let expected =
      nearest == .seconds(86_400) ? "86400" : nearest > .seconds(1) ? "9223372036.854775807" : "0"
    let text = log.recentText
    let count = text.ranges(of: "\"duration_s\":\(expected)").count
    try run.expect(count == 2, "not two times of \(expected) s: \(text)")
  }
}

/// A label set whose name is chosen when it is registered.
struct ExtremeLabels: LabelSet {
  @TaskLocal static var name = "job"
  var value: String

  static var labels: [Label<ExtremeLabels>] { [Label(name, \.value)] }
}
