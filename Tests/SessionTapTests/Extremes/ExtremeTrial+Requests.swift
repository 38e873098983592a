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
    func buckets(
      _ setting: String, _ step: Double,
      _ make: @escaping @Sendable (_ first: Double, _ step: Double, _ count: Int) -> HistogramBuckets
    ) -> [Self] {
      use(setting) { (run, value: Double) in
        for (first, step) in [(value, value), (0, value), (1, value), (value, step)] {
          for count in Int.extremes.map(\.value) + [10] { try record(in: make(first, step, count), run) }
        }
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
    return table {
      change("HistogramBuckets.init(_:)", at: lists) {
        $0.durationBuckets = HistogramBuckets($1)
        $0.roundTripBuckets = HistogramBuckets($1)
        $0.bodySizeBuckets = HistogramBuckets($1)
      }
      use("HistogramBuckets.init(_:)", at: lists) { try record(in: HistogramBuckets($1), $0) }
      buckets("HistogramBuckets.exponential", 2) { .exponential(from: $0, factor: $1, count: $2) }
      change("SeriesConfiguration.limit", at: Int.extremes) { $0.series.limit = $1 }
      use("SeriesConfiguration.limit") { run, limit in
        for expiry in Duration?.extremes {
          try scrape(SeriesConfiguration(limit: limit, idleExpiry: expiry.value), run)
        }
      }
      // What has ended may have expired before the scrape.
      start("SeriesConfiguration.idleExpiry", at: Duration?.extremes) {
        $0.configuration.outbound.series.idleExpiry = $1
        $0.configuration.inbound.series.idleExpiry = $1
        $0.requests = nil
      }
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
    func begin<Value: Extremal>(
      _ make: @escaping @Sendable (InboundRequests, Value) -> ActiveRequest
    ) -> [Self] {
      use("InboundRequests.begin") { make($0.tap.inbound, $1).end(statusCode: 200) }
    }
    func end<Value: Extremal>(
      _ function: String, _ end: @escaping @Sendable (ActiveRequest, Value) -> Void
    ) -> [Self] {
      use("ActiveRequest.\(function)") { end($0.tap.inbound.begin(method: "GET", path: "/"), $1) }
    }
    return table {
      begin { (inbound, method: String) in inbound.begin(method: method, path: "/") }
      begin { inbound, text in inbound.begin(method: "GET", path: "/", headers: { _ in text }) }
      begin { (inbound, path: String) in inbound.begin(method: "GET", path: path) }
      begin {
        $0.begin(method: "GET", path: "/", scheme: $1, route: $1, traceparent: $1, clientAddress: $1)
      }
      begin { $0.begin(method: "GET", path: "/", fields: $1) }
      end("responseBegan") { (request, code: Int) in
        request.responseBegan(statusCode: code)
        request.end(statusCode: code)
      }
      end("end") { $0.end(statusCode: $1, route: "/", requestBodySize: $1, responseBodySize: $1) }
      end("end") { $0.end(statusCode: 200, route: $1) }
      end("end") { request, text in request.end(statusCode: 200, responseHeaders: { _ in text }) }
      end("fail") { $0.fail(.timeout, statusCode: $1, requestBodySize: $1, responseBodySize: $1) }
      end("fail") { $0.fail(message: $1, route: $1) }
      end("fail") { request, text in request.fail(responseHeaders: { _ in text }) }
      end("cancel") { $0.cancel(route: $1) }
      end("add") { $0.add($1) }
    }
  }

  static var outbound: [Self] {
    func begin<Value: Extremal>(
      _ make: @escaping @Sendable (OutboundRequests, Value) -> ActiveRequest
    ) -> [Self] {
      use("OutboundRequests.begin", requests: 1) { make($0.tap.outbound, $1).end(statusCode: 200) }
    }
    let url = "http://h/"
    return table {
      begin { $0.begin(client: $1, method: $1, url: $1, urlTemplate: $1) }
      begin { $0.begin(client: "c", method: "GET", url: url, fields: $1) }
      begin { outbound, text in
        outbound.begin(client: "c", method: "GET", url: url, headers: { _ in text })
      }
    }
  }

  /// Requests of another client, which an app describes itself: given to the metrics and to the log.
  static var observations: [Self] {
    func observe<Value: Extremal>(
      _ setting: String, _ change: @escaping @Sendable (inout RequestObservation, Value) -> Void
    ) -> [Self] {
      use(setting) { run, value in try run.record(with(example) { change(&$0, value) }) }
    }
    func each<Owner, each Value: Extremal>(
      _ owner: any WritableKeyPath<RequestObservation, Owner> & Sendable,
      _ settings: repeat (any WritableKeyPath<Owner, each Value> & Sendable)
    ) -> [Self] {
      properties(of: Owner.self, repeat each settings) { setting, changes in
        use(setting, at: changes) { run, change in
          try run.record(with(example) { change(&$0[keyPath: owner]) })
        }
      }
    }
    return table {
      each(
        \.request, \.client, \.fields, \.headers, \.method, \.clientAddress, \.scheme, \.serverAddress,
        \.serverPort, \.url, \.urlTemplate)
      each(
        \.self, \.requestBodySize, \.responseBodySize, \.resendCount, \.openedConnections,
        \.retransmittedSegments, \.peerAddress, \.responseHeaders, \.duration,
        \.networkRoundTrip, \.timeToResend)
      use("RequestObservation.duration") { try line(of: $1, $0) }
      observe("RequestObservation.timeToFirstByte") { observation, duration in
        observation.timeToFirstByte = duration
        for phase in RequestTimings.Phase.allCases { observation.timings[phase] = duration }
      }
      observe("RequestObservation.errorMessage") { $0.errorMessage = $1 }
      observe("RequestEnd.response") { $0.end = .response(statusCode: $1) }
      observe("RequestEnd.failure") { $0.end = .failure(.timeout, statusCode: $1) }
      observe("Timestamp.nanosecondsSinceEpoch") { $0.start.nanosecondsSinceEpoch = $1 }
      observe("FieldValue.string") { $0.request.fields = ["key": .string($1)] }
      observe("FieldValue.double") { $0.request.fields = ["key": .double($1)] }
      observe("FieldValue.integer") { $0.request.fields = ["key": .integer($1)] }
    }
  }

  private static let example = RequestObservation(
    request: RequestDescription(client: "other", method: "GET", url: "http://h/"), start: .now,
    duration: .seconds(1), end: .response(statusCode: 200))

  /// The line of a request, and of one that waits, has the nearest time that it can have.
  private static func line(of duration: Duration, _ run: RunningExtreme) throws {
    let configuration = with(RequestLog.Configuration()) { $0.recentLineLimit = 10 }
    let log = try RequestLog(to: .memory, configuration: configuration)
    log.requestEnded(with(example) { $0.duration = duration })
    log.requestWaits(RequestSnapshot(example.request, for: duration))
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
