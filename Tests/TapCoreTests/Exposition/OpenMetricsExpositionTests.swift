import TestSupport

@testable import TapCore

struct OpenMetricsExpositionTests {
  private let registry = Registry()

  /// The exposition, with the time when series were made replaced by `T`.
  private var text: String {
    registry.exposition(in: .openMetrics, createdSamples: true).text
      .split(separator: "\n", omittingEmptySubsequences: false)
      .map { line in
        let isCreated = line.contains("_created") && !line.hasPrefix("#")
        return isCreated ? line.prefix { $0 != " " } + " T" : line
      }
      .joined(separator: "\n")
  }

  @Test func `writes types units exemplars and beginnings`() throws {
    let trace = TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    let silent = TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")
    let histogram = try registry.histogram(
      "job_duration_seconds", help: "Say \"hi\".", unit: "seconds", buckets: [0.1, 1],
      labels: ["kind": "email"])
    let time = Timestamp(nanosecondsSinceEpoch: 1_795_229_000_005_456_789)
    histogram.record(0.5, trace: trace, at: Timestamp(nanosecondsSinceEpoch: 5))
    histogram.record(0.25, trace: trace, at: time)
    histogram.record(9, trace: silent)
    try registry.counter("sent_bytes_total", help: "Sent.", unit: "bytes").increment(by: 3)
    try registry.gauge("depth", help: "").set(1.5)
    try registry.register(BuildInfo())
    #expect(
      text == """
        # TYPE depth gauge
        depth 1.5
        # TYPE job_duration_seconds histogram
        # UNIT job_duration_seconds seconds
        # HELP job_duration_seconds Say \\"hi\\".
        job_duration_seconds_bucket{kind="email",le="0.1"} 0
        job_duration_seconds_bucket{kind="email",le="1.0"} 2 # {trace_id="4bf92f3577b34da6a3ce929d0e0e4736",span_id="00f067aa0ba902b7"} 0.25 1795229000.005
        job_duration_seconds_bucket{kind="email",le="+Inf"} 3
        job_duration_seconds_sum{kind="email"} 9.75
        job_duration_seconds_count{kind="email"} 3
        job_duration_seconds_created{kind="email"} T
        # TYPE sent_bytes counter
        # UNIT sent_bytes bytes
        # HELP sent_bytes Sent.
        sent_bytes_total 3
        sent_bytes_created T
        # TYPE session_tap_build info
        # HELP session_tap_build The version of SessionTap.
        session_tap_build_info{version="\(BuildInfo.version)"} 1
        # EOF

        """)
    let protobuf = try #require(ProtobufExposition(registry.exposition(in: .protobuf).body))
    #expect(protobuf.units == ["job_duration_seconds": "seconds", "sent_bytes_total": "bytes"])
  }

  /// Prometheus's own libraries write such a counter so: boards keep its name.
  @Test func `a counter with a name of another library's keeps it in each format`() throws {
    let jobs = try registry.counter(legacyName: "jobs", help: "Done.", labels: ["kind": "a"])
    jobs.increment(by: 2)
    jobs.increment(by: -1)
    try registry.counter(legacyName: "sent_total", help: "Sent.").increment()
    #expect(
      text == """
        # TYPE jobs unknown
        # HELP jobs Done.
        jobs{kind="a"} 2
        # TYPE sent counter
        # HELP sent Sent.
        sent_total 1
        sent_created T
        # TYPE session_tap_dropped_values counter
        # HELP session_tap_dropped_values Values that no instrument can take: infinite, not a number, or below 0.
        session_tap_dropped_values_total{metric="jobs"} 1
        # EOF

        """)
    #expect(registry.exposition(in: .text).text.contains("# TYPE jobs counter\njobs{kind=\"a\"} 2\n"))
    // The name, the help, and the type, which is a counter's.
    let fields = [0x0a, 4] + Array("jobs".utf8) + [0x12, 5] + Array("Done.".utf8) + [0x18, 0]
    #expect(registry.exposition(in: .protobuf).body.dropFirst().starts(with: fields))
    #expect(registry.value(of: "jobs") == 2)
    #expect(throws: RegistryError.self) { try registry.counter("jobs", help: "Done.") }
    #expect(throws: RegistryError.self) { try registry.gauge("jobs", help: "Done.", labels: ["kind": "a"]) }
    #expect(throws: RegistryError.self) { try registry.counter("jobs_total", help: "Done.") }
  }

  @Test func `an empty registry has its end`() { #expect(text == "# EOF\n") }

  @Test func `a sum that is no counter is left out`() throws {
    try registry.histogram("h", help: "", buckets: [1]).record(-3)
    try registry.histogram("n", help: "", buckets: [-1, 1]).record(3)
    #expect(
      text == """
        # TYPE h histogram
        h_bucket{le="1.0"} 1
        h_bucket{le="+Inf"} 1
        h_created T
        # TYPE n histogram
        n_bucket{le="-1.0"} 0
        n_bucket{le="1.0"} 0
        n_bucket{le="+Inf"} 1
        n_created T
        # EOF

        """)
  }

  @Test func `values that are no counters are left out`() throws {
    try registry.counter("a_total", help: "", labels: ["x": "1"]) { .nan }
    try registry.counter("a_total", help: "", labels: ["x": "2"]) { -1 }
    try registry.counter("a_total", help: "", labels: ["x": "3"]) { 7 }
    #expect(text == "# TYPE a counter\na_total{x=\"3\"} 7\n# EOF\n")
  }

  /// A registry looks at the labels of a collector when it is registered. It may have others at a scrape.
  @Test func `samples whose labels have become invalid are left out`() throws {
    let pool = Pool()
    try registry.register(pool)
    let invalid: [Labels] = [["1x": "a"], ["__x": "a"], ["le": "a"], Labels([("x", "a"), ("x", "b")])]
    pool.labels.withLock { $0 = invalid + [["x": "c"]] }
    #expect(text == "# TYPE pool gauge\npool{x=\"c\"} 1\n# EOF\n")
  }

  @Test func `an exemplar keeps no span alive`() throws {
    final class Span: Sendable {}
    let histogram = try registry.histogram("h", help: "")
    weak var span: Span?
    do {
      let made = Span()
      span = made
      histogram.record(
        1, trace: TraceContext(traceparent: TraceContext.random(isSampled: true).traceparent, span: made))
    }
    #expect(histogram.snapshot.exemplars.compactMap(\.self).count == 1)
    #expect(span == nil)
  }

  @Test func `the latest exemplar of a bucket stays`() throws {
    let histogram = try registry.histogram("h", help: "", buckets: [1])
    let traces = ["a", "b"].compactMap {
      TraceContext(traceparent: "00-\(String(repeating: $0, count: 32))-00f067aa0ba902b7-01")
    }
    for (number, trace) in traces.enumerated() {
      histogram.record(0.5, trace: trace, at: Timestamp(nanosecondsSinceEpoch: Int64(number)))
    }
    #expect(histogram.snapshot.exemplars.map(\.?.trace.traceID) == [traces.last?.traceID, nil])
    // The cells of a histogram in either order.
    for order in [[0, 1], [1, 0]] {
      let layout = BucketLayout([1])
      var sum = ValueHistogram(layout)
      for place in order {
        let time = Timestamp(nanosecondsSinceEpoch: Int64(place))
        var cell = ValueHistogram(layout)
        let exemplar = Exemplar(value: 1, timestamp: time, trace: traces[place])
        cell.record(1)
        cell.keep(exemplar)
        sum.add(cell)
      }
      #expect(sum.exemplars.map(\.?.trace.traceID) == [traces[1].traceID, nil])
    }
  }
}

private final class Pool: Collector {
  let labels = Mutex([Labels.none])

  func collect() -> [MetricFamily] {
    let samples = labels.withLock { $0 }.map { MetricFamily.Sample(labels: $0, value: 1) }
    return [MetricFamily(name: "pool", help: "", kind: .gauge, samples: samples)]
  }
}
