import SessionTap
import TestSupport

/// The table: requests that no session makes, and their metrics.
extension ExtremeTrial {
  @Table static var metrics: [Self] {
    change(\.outbound, \.waitingExemptions, \.waitingLimit)
    change(\.outbound.series, \.limit)
    // What has ended may have expired before the scrape.
    start("SeriesConfiguration.idleExpiry", at: Duration?.extremes) {
      ($0.requests, $0.configuration.outbound.series.idleExpiry) = (nil, $1)
    }
    start("HistogramBuckets.init(_:)", at: bounds) { $0.configuration.outbound.durationBuckets = .init($1) }
    use("HistogramBuckets.exponential") { (_, value: Double) in
      for (first, factor) in [(value, value), (0, value), (1, value), (value, 2)] {
        for count in Int.extremes.map(\.value) + [10] {
          let buckets = HistogramBuckets.exponential(from: first, factor: factor, count: count)
          try? Registry().histogram("h", help: "", buckets: buckets).record(1)
        }
      }
    }
  }

  private static var bounds: NamedValues<[Double]> {
    let single: NamedValues<[Double]> = Double.extremes.map { ("an element: \($0.name)", [$0.value]) }
    let some: NamedValues<[Double]> = [
      ("no element", []), ("all", Double.extremes.map(\.value)), ("NaN inside", [1, .nan, 2]),
      ("far", [-.greatestFiniteMagnitude, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude]),
      ("many", (0..<manyElements).map { Double($0) }),
    ]
    return single + some
  }

  @Table static var inbound: [Self] {
    serve { (inbound, method: String) in inbound.begin(method: method, path: "/") }
    serve { inbound, text in inbound.begin(method: "GET", path: "/", headers: { _ in text }) }
    serve { (inbound, path: String) in inbound.begin(method: "GET", path: path) }
    serve {
      $0.begin(method: "GET", path: "/", scheme: $1, route: $1, traceparent: $1, clientAddress: $1)
    }
    serve { $0.begin(method: "GET", path: "/", fields: $1) }
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

  private static func serve<Value: Extremal>(
    _ begin: @escaping @Sendable (InboundRequests, Value) -> ActiveRequest
  ) -> [Self] {
    use("InboundRequests.begin") { begin($0.tap.inbound, $1).end(statusCode: 200) }
  }

  private static func end<Value: Extremal>(
    _ function: String, _ end: @escaping @Sendable (ActiveRequest, Value) -> Void
  ) -> [Self] {
    use("ActiveRequest.\(function)") { end($0.tap.inbound.begin(method: "GET", path: "/"), $1) }
  }

  @Table static var outbound: [Self] {
    make { $0.begin(client: $1, method: $1, url: $1, urlTemplate: $1) }
    make { $0.begin(client: "c", method: "GET", url: "http://h/", fields: $1) }
    make { outbound, text in
      outbound.begin(client: "c", method: "GET", url: "http://h/", headers: { _ in text })
    }
  }

  private static func make<Value: Extremal>(
    _ begin: @escaping @Sendable (OutboundRequests, Value) -> ActiveRequest
  ) -> [Self] {
    use("OutboundRequests.begin", requests: 1) { begin($0.tap.outbound, $1).end(statusCode: 200) }
  }

  /// Requests of another client, which an app describes itself: given to the metrics and to the log.
  @Table static var observations: [Self] {
    observe(
      \.request, \.client, \.fields, \.headers, \.method, \.clientAddress, \.scheme, \.serverAddress,
      \.serverPort, \.url, \.urlTemplate)
    observe(
      \.self, \.requestBodySize, \.responseBodySize, \.resendCount, \.openedConnections,
      \.retransmittedSegments, \.peerAddress, \.responseHeaders, \.duration, \.networkRoundTrip,
      \.timeToResend)
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

  private static func observe<Value: Extremal>(
    _ setting: String, _ change: @escaping @Sendable (inout RequestObservation, Value) -> Void
  ) -> [Self] {
    use(setting) { run, value in try run.record { change(&$0, value) } }
  }

  private static func observe<Owner, each Value: Extremal>(
    _ owner: any WritableKeyPath<RequestObservation, Owner> & Sendable,
    _ settings: repeat (any WritableKeyPath<Owner, each Value> & Sendable)
  ) -> [Self] {
    properties(of: Owner.self, repeat each settings) { setting, changes in
      use(setting, at: changes) { run, change in try run.record { change(&$0[keyPath: owner]) } }
    }
  }
}

/// A label set whose name is chosen when it is registered.
struct ExtremeLabels: LabelSet {
  @TaskLocal static var name = "job"
  var value: String

  static var labels: [Label<ExtremeLabels>] { [Label(name, \.value)] }
}
