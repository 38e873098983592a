import TapCore
import TestSupport
import Testing

/// Every public number, duration, text and list at its extremes: what an app gives is refused by a ``RegistryError``, or
/// works as the nearest value would. Nothing ends the process, and every exposition stays well-formed.
struct ExtremesTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let run: @Sendable (Registry) throws -> Void

    init(_ name: String, _ run: @escaping @Sendable (Registry) throws -> Void) {
      testDescription = name
      self.run = run
    }
  }

  @Test(arguments: cases)
  func `is refused or works`(_ extreme: Case) throws {
    let registry = Registry()
    do { try extreme.run(registry) } catch is RegistryError {}
    for format in ExpositionFormat.allCases {
      let exposition = registry.exposition(in: format)
      guard format != .protobuf else { continue }
      let text = try #require(String(validating: exposition.bytes, as: UTF8.self))
      // A gauge may be "not a number", if the app says so.
      let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map(Substring.init)
      #expect(lines.allSatisfy { $0.hasPrefix("#") || $0.hasPrefix("extreme") || !$0.hasSuffix(" NaN") })
    }
  }

  private static let megabyte = String(repeating: "x", count: 1 << 20)
  private static let texts = ["", " ", "\0", "a\0b", "\n", "\"\\", "\u{10ffff}", megabyte]
  private static let integers = [Int.min, -1, 0, 1, Int.max]
  private static let doubles = [
    -Double.infinity, -.greatestFiniteMagnitude, -1, -.leastNonzeroMagnitude, -0.0, 0, .leastNonzeroMagnitude,
    0x1p-128, 0x1p-128.nextUp, 1, .greatestFiniteMagnitude, .infinity, .nan,
  ]
  /// The longest are beyond what `Duration.components` can tell.
  private static let durations =
    [
      .zero - .seconds(Int64.max) - .seconds(Int64.max), .seconds(Int64.min), .nanoseconds(-1), .zero,
      .nanoseconds(1), .nanoseconds(Int64.max), .seconds(Int64.max),
      .seconds(Int64.max) + .seconds(Int64.max),
    ] as [Duration]
  private static let timestamps = [Int64.min, -1, 0, .max].map(Timestamp.init(nanosecondsSinceEpoch:))
  private static let bucketLists: [HistogramBuckets] =
    [
      [], [.nan], [.infinity], [-.infinity, 0], [1, 1], [2, 1], [1, .nan, 2], HistogramBuckets(doubles),
      [-.greatestFiniteMagnitude, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude],
      HistogramBuckets((0..<100_000).map(Double.init)), HistogramBuckets((0..<256).map(Double.init)),
    ]
    + doubles.flatMap { value in
      integers.flatMap { count in
        [
          .exponential(from: value, factor: value, count: count),
          .exponential(from: 1, factor: value, count: count),
          .linear(from: value, width: value, count: count), .linear(from: 0, width: value, count: count),
        ]
      }
    }

  private static let cases = series + instruments + names + requests + templates + readings

  private static let series: [Case] = integers.flatMap { limit in
    ([nil] + durations.map(Optional.some)).map { expiry in
      Case("series: limit \(limit), expiry \(expiry.map { "\($0 / .seconds(1)) s" } ?? "none")") { registry in
        let options = SeriesOptions(limit: limit, idleExpiry: expiry)
        let family = try registry.counter("a_total", help: "", by: JobLabels.self, options: options)
        var outbound = RequestMetrics.Configuration()
        outbound.series = options
        let recorder = try RequestRecorder(registry: registry, outbound: outbound, inbound: outbound)
        for host in ["a", "b", "a"] {
          family[JobLabels(kind: host)].increment()
          recorder.outbound.begin(client: "c", method: "GET", url: "http://\(host)").cancel()
          recorder.inbound.begin(method: "GET", path: "/").end(statusCode: 200, route: host)
          let text = String(decoding: registry.exposition().bytes, as: UTF8.self)
          // What was recorded since the last scrape is shown, however short the expiry.
          #expect(text.split(separator: "\n").contains { $0.hasPrefix("a_total{") })
        }
      }
    }
  }

  private static let instruments: [Case] =
    [
      Case("a counter's amounts") { registry in
        let counter = try registry.counter("a_total", help: "")
        var last = 0.0
        for amount in integers + integers + integers {
          counter.increment(by: amount)
          #expect(counter.value >= last)
          last = counter.value
        }
        for amount in doubles + doubles {
          counter.increment(by: amount)
          #expect(counter.value >= last && counter.value.isFinite)
          last = counter.value
        }
      },
      Case("a gauge's values") { registry in
        let gauge = try registry.gauge("extreme", help: "")
        for value in integers { gauge.set(value) }
        for value in doubles {
          gauge.set(value)
          _ = registry.exposition()
          gauge.increment(by: value)
          gauge.decrement(by: value)
        }
      },
      Case("a histogram's durations") { registry in
        let histogram = try registry.histogram("h_seconds", help: "", unit: "seconds")
        for duration in durations { histogram.record(duration) }
        #expect(histogram.snapshot.count == UInt64(durations.count))
      },
      Case("values that are read at a scrape") { registry in
        for (number, value) in doubles.enumerated() {
          try registry.counter("a_total", help: "", labels: ["n": "\(number)"]) { value }
          try registry.gauge("extreme", help: "", labels: ["n": "\(number)"]) { value }
        }
      },
    ]
    + doubles.map { first in
      Case("a histogram's values, \(first) and others") { registry in
        for (number, second) in doubles.enumerated() {
          let histogram = try registry.histogram("h", help: "", buckets: [1], labels: ["n": "\(number)"])
          for value in [first, second, second, first] {
            histogram.record(value)
            for timestamp in timestamps { histogram.record(value, trace: .random(), at: timestamp) }
          }
          #expect(histogram.snapshot.sum.isFinite)
          for share in doubles {
            let quantile = histogram.quantile(share)
            #expect(quantile?.isFinite ?? true)
          }
        }
      }
    } + [
      Case("lists of buckets") { _ in
        for buckets in bucketLists {
          let registry = Registry()
          var outbound = RequestMetrics.Configuration()
          (outbound.durationBuckets, outbound.bodySizeBuckets) = (buckets, buckets)
          do {
            _ = try RequestDriver(registry: registry, configuration: outbound)
            try registry.histogram("h", help: "", buckets: buckets).record(1)
          } catch let error as RegistryError {
            #expect(error.code == .invalidBuckets)
          }
          _ = registry.exposition()
        }
      }
    ]

  private static let names: [Case] =
    (texts + ["valid", "le", "__x", "quantile"]).map { text in
      Case("a name, a label, a help text or a unit: \(text.debugDescription.prefix(20))") { registry in
        // One name of a megabyte is enough for a debug build.
        let isLong = text.utf8.count > 1_000
        for name in isLong ? [text + "_total"] : [text, text + "_total", "a_" + text + "_total"] {
          try? registry.counter(name, help: text, unit: text, labels: [text: text]).increment()
          try? registry.counter(name, help: text, labels: ["a": text]).increment()
          if !isLong { _ = try? registry.histogram(name, help: text, buckets: [1], labels: ["a": text]) }
          _ = registry.removeSeries(of: name, labels: [text: text])
        }
        try registry.counter("labelled_total", help: text, by: JobLabels.self)[JobLabels(kind: text)]
          .increment()
        try registry.register(TargetInfo(serviceName: text, resourceAttributes: "\(text)=\(text),a=\(text)"))
        _ = TraceContext(traceparent: text)
        _ = registry.exposition(accept: text)
        _ = registry.exposition(in: .text, names: [text])
      }
    } + [
      Case("100,000 labels of a series") { registry in
        let labels = Labels((0..<100_000).map { ("l\($0)", "\($0)") })
        try registry.counter("a_total", help: "", labels: labels).increment()
      },
      Case("100,000 formats that are accepted") { registry in
        #expect(registry.exposition(accept: String(repeating: "a;q=0,", count: 100_000)).format == .text)
      },
      Case("100,000 resource attributes") { registry in
        let attributes = (0..<100_000).map { "a\($0)=%\($0)" }.joined(separator: ",")
        try registry.register(TargetInfo(serviceName: nil, resourceAttributes: attributes))
      },
    ]

  private static let requests: [Case] = texts.map { text in
    Case("a request's values, with \(text.debugDescription.prefix(20))") { registry in
      let metrics = try RequestDriver(registry: registry)
      let (served, made) = (metrics.recorder.inbound, metrics.recorder.outbound)
      let ends: [RequestEnd] =
        [.cancelled, .response(statusCode: nil), .failure(.other, statusCode: nil)]
        + integers.flatMap { [.response(statusCode: $0), .failure(.tls, statusCode: $0)] }
      for (number, end) in ends.enumerated() {
        let integer = integers[number % integers.count]
        let duration = durations[number % durations.count]
        let request = RequestDescription(
          client: text, method: text, url: text, serverAddress: text, serverPort: integer, urlTemplate: text,
          traceContext: number % 2 == 0 ? .random() : nil, fields: [text: .string(text)],
          headers: [text: text])
        metrics.requestStarted(request)
        var observation = RequestObservation(
          request: request, start: timestamps[number % timestamps.count], duration: duration, end: end,
          requestBodySize: Int64(integer), responseBodySize: Int64(integer), timeToFirstByte: duration,
          resendCount: integer, responseHeaders: [text: text])
        (observation.duration, observation.timeToFirstByte) = (duration, duration)
        metrics.requestEnded(observation)
        let inbound = served.begin(
          method: text, path: text, scheme: text, traceparent: text, clientAddress: text,
          fields: [text: .string(text)])
        switch number % 3 {
        case 0: inbound.cancel(route: text)
        case 1:
          inbound.end(
            statusCode: integer, route: text, requestBodySize: integer, responseBodySize: integer)
        default:
          inbound.fail(
            .body, statusCode: integer, route: text, requestBodySize: integer, responseBodySize: integer)
        }
        inbound.add([text: .integer(Int64(integer))])
        let outbound = made.begin(
          client: text, method: text, url: text, urlTemplate: text, fields: [text: .string(text)])
        outbound.add([text: .string(text)])
        outbound.end(statusCode: integer)
        _ = (observation.outcome, observation.errorType, observation.duration, observation.timeToFirstByte)
      }
    }
  }

  private static let templates: [Case] = [
    Case("templates of paths") { _ in
      let many = PathTemplates((0..<100_000).map { "/\($0)/{a}" })
      #expect(many.template(for: "/99999/1") == "/99999/{a}")
      let long = PathTemplates([String(repeating: "/x", count: 100_000), "/" + megabyte] + texts)
      #expect(long.template(for: "/" + megabyte) == "/" + megabyte)
      for text in texts { _ = long.template(for: text) }
    }
  ]

  private static let readings: [Case] = [
    Case("times in an exemplar and a creation") { registry in
      let histogram = try registry.histogram("h", help: "")
      for timestamp in timestamps {
        histogram.record(1, trace: .random(), at: timestamp)
        _ = registry.exposition(in: .openMetrics)
        _ = registry.exposition(in: .protobuf)
      }
    },
    Case("a collector's families") { registry in
      struct Extreme: Collector {
        func collect() -> [MetricFamily] {
          let samples = doubles.map { MetricFamily.Sample(labels: ["v": megabyte + "\($0)"], value: $0) }
          return [MetricFamily(name: "extreme", help: "\0" + megabyte, kind: .gauge, samples: samples)]
        }
      }
      try registry.register(Extreme())
    },
  ]
}
