import TestSupport

@testable import TapCore

struct TextWriterTests {
  private let registry = Registry()

  private var text: String { registry.text }
  private var openMetrics: String { registry.exposition(in: .openMetrics).text }

  /// Some of all that there can be.
  private func registerAll() throws {
    let escaped = "Back\\slash, \"quote\" and\nnew line."
    try registry.gauge("a", help: escaped, labels: ["path": "C:\\dir\n\"x\" é"]).set(-2.5)
    // The lines before those with an exemplar are fewer and shorter.
    _ = try registry.histogram("age", help: "", buckets: [1])
    let trace = TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    let silent = TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")
    let histogram = try registry.histogram(
      "job_duration_seconds", help: "Duration of jobs.", unit: "seconds", buckets: [0.1, 1],
      labels: ["kind": "email"])
    histogram.record(0.1)
    histogram.record(0.5, trace: trace, at: Timestamp(nanosecondsSinceEpoch: 5))
    let time = Timestamp(nanosecondsSinceEpoch: 1_795_229_000_005_456_789)
    histogram.record(0.25, trace: trace, at: time)
    histogram.record(9, trace: silent)
    histogram.record(.milliseconds(300))
    let jobs = try registry.counter("jobs_total", help: "Jobs done.", by: JobLabels.self)
    jobs[JobLabels(kind: "sms")].increment(by: 2)
    jobs[JobLabels(kind: "email", queue: "slow")].increment()
    jobs[JobLabels(kind: "email", attempt: 2)].increment(by: 0.5)
    let pool = Pool()
    pool.families.withLock {
      $0 = [
        MetricFamily(
          name: "pool_connections", help: "Connections.", kind: .gauge,
          samples: [
            .init(labels: ["state": "idle"], value: 3), .init(labels: ["state": "busy"], value: 1),
            .init(labels: ["state": "idle"], value: 9),
          ]),
        MetricFamily(name: "pool_opened_total", help: "Opened.", kind: .counter, samples: [.init(value: 4)]),
      ]
    }
    try registry.register(pool)
    try registry.register(BuildInfo())
    // Prometheus's own libraries write such counters so: boards keep their names.
    let tasks = try registry.counter(legacyName: "tasks", help: "Done.", labels: ["kind": "a"])
    tasks.increment(by: 2)
    tasks.increment(by: -1)
    try registry.counter(legacyName: "sent_total", help: "").increment()
  }

  /// The lines of both formats. `t` marks those of the text format alone, `o` those of OpenMetrics alone.
  private static let lines = #"""
    t # HELP a Back\\slash, "quote" and\nnew line.
      # TYPE a gauge
    o # HELP a Back\\slash, \"quote\" and\nnew line.
      a{path="C:\\dir\n\"x\" é"} -2.5
      # TYPE age histogram
      age_bucket{le="1.0"} 0
      age_bucket{le="+Inf"} 0
      age_sum 0
      age_count 0
    t # HELP job_duration_seconds Duration of jobs.
      # TYPE job_duration_seconds histogram
    o # UNIT job_duration_seconds seconds
    o # HELP job_duration_seconds Duration of jobs.
      job_duration_seconds_bucket{kind="email",le="0.1"} 1
    t job_duration_seconds_bucket{kind="email",le="1.0"} 4
    o job_duration_seconds_bucket{kind="email",le="1.0"} 4 # {trace_id="4bf92f3577b34da6a3ce929d0e0e4736",span_id="00f067aa0ba902b7"} 0.25 1795229000.005
      job_duration_seconds_bucket{kind="email",le="+Inf"} 5
      job_duration_seconds_sum{kind="email"} 10.15
      job_duration_seconds_count{kind="email"} 5
    t # HELP jobs_total Jobs done.
    t # TYPE jobs_total counter
    o # TYPE jobs counter
    o # HELP jobs Jobs done.
      jobs_total{attempt="2",kind="email"} 0.5
      jobs_total{kind="email",queue="slow"} 1
      jobs_total{kind="sms"} 2
    t # HELP pool_connections Connections.
      # TYPE pool_connections gauge
    o # HELP pool_connections Connections.
      pool_connections{state="busy"} 1
      pool_connections{state="idle"} 3
    t # HELP pool_opened_total Opened.
    t # TYPE pool_opened_total counter
    o # TYPE pool_opened counter
    o # HELP pool_opened Opened.
      pool_opened_total 4
    t # TYPE sent_total counter
    o # TYPE sent counter
      sent_total 1
    t # HELP session_tap_build_info The version of SessionTap.
    t # TYPE session_tap_build_info gauge
    o # TYPE session_tap_build info
    o # HELP session_tap_build The version of SessionTap.
      session_tap_build_info{version="\#(BuildInfo.version)"} 1
    t # HELP session_tap_dropped_values_total Values that no instrument can take: infinite, not a number, or below 0.
    t # TYPE session_tap_dropped_values_total counter
    o # TYPE session_tap_dropped_values counter
    o # HELP session_tap_dropped_values Values that no instrument can take: infinite, not a number, or below 0.
      session_tap_dropped_values_total{metric="tasks"} 1
    t # HELP session_tap_series_overflow_total Look-ups of label sets that found no room in their metric.
    t # TYPE session_tap_series_overflow_total counter
    o # TYPE session_tap_series_overflow counter
    o # HELP session_tap_series_overflow Look-ups of label sets that found no room in their metric.
      session_tap_series_overflow_total{metric="jobs_total"} 0
    t # HELP tasks Done.
    t # TYPE tasks counter
    o # TYPE tasks unknown
    o # HELP tasks Done.
      tasks{kind="a"} 2
    o # EOF
    """#

  @Test func `has families by name, and series by label values, and in OpenMetrics units and exemplars`()
    throws
  {
    #expect(text.isEmpty && registry.exposition().format == .text)
    #expect(registry.exposition(accept: "application/openmetrics-text").text == "# EOF\n")
    try registerAll()
    func lines(of mark: Character) -> String {
      Self.lines.split(separator: "\n").filter { [" ", mark].contains($0.first) }
        .map { $0.dropFirst(2) + "\n" }.joined()
    }
    #expect([text, openMetrics] == [lines(of: "t"), lines(of: "o")])
  }

  @Test func `writes the shortest number that reads back the same`() throws {
    let rows: [(Double, String)] = [
      (0.0, "0"), (-0.0, "0"), (1, "1"), (0.1, "0.1"), (-3, "-3"), (1e15, "1000000000000000"),
      (0x1p53, "9007199254740992.0"), (1e300, "1e+300"), (-1e300, "-1e+300"),
      (.leastNonzeroMagnitude, "5e-324"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
    ]
    let gauge = try registry.gauge("g", help: "")
    let written = rows.map { value, _ in
      gauge.set(value)
      return text
    }
    #expect(written == rows.map { "# TYPE g gauge\ng \($0.1)\n" })
    #expect(rows.filter(\.0.isFinite).allSatisfy { Double($0.1) == $0.0 })
  }

  @Test func `writes bounds as Prometheus does`() throws {
    let rows: [(Double, String)] = [
      (1.0, "1.0"), (0.005, "0.005"), (0.0001, "0.0001"), (0.00001, "1e-05"), (1.5e-7, "1.5e-07"),
      (-2.5, "-2.5"), (0, "0.0"), (64, "64.0"), (262_144, "262144.0"), (999_999, "999999.0"),
      (1_000_000, "1e+06"), (268_435_456, "2.68435456e+08"), (1e100, "1e+100"), (-0.25, "-0.25"),
      (123.456, "123.456"), (-1_500_000, "-1.5e+06"), (1_234_567.25, "1.23456725e+06"), (1e10, "1e+10"),
    ]
    let lines = try rows.map { bound, _ in
      let registry = Registry()
      try registry.histogram("h", help: "", buckets: [bound]).record(bound)
      return registry.lines[1]
    }
    #expect(lines == rows.map { "h_bucket{le=\"\($0.1)\"} 1" })
  }

  @Test func `every way to make a metric passes on what it is given`() throws {
    let (x, labels) = (JobLabels(kind: "x"), Labels(["kind": "x"]))
    let (help, unit) = ("Jobs.", "jobs")
    try registry.counter("a_jobs_total", help: help, unit: unit, labels: labels).increment()
    try registry.counter("b_jobs_total", help: help, unit: unit, by: JobLabels.self)[x].increment()
    try registry.counter("c_jobs_total", help: help, unit: unit, labels: labels) { 1 }
    try registry.gauge("d_jobs", help: help, unit: unit, labels: labels).set(1)
    try registry.gauge("e_jobs", help: help, unit: unit, by: JobLabels.self)[x].set(1)
    try registry.gauge("f_jobs", help: help, unit: unit, labels: labels) { 1 }
    try registry.histogram("g_jobs", help: help, unit: unit, buckets: [4], labels: labels).record(1)
    try registry.histogram("h_jobs", help: help, unit: unit, buckets: [4], by: JobLabels.self)[x].record(1)
    let sample = MetricFamily.Sample(labels: labels, value: 1)
    try registry.register(
      Families([MetricFamily(name: "i_jobs", help: help, kind: .gauge, unit: unit, samples: [sample])]))
    var expected: [String] = []
    func expect(_ name: String, _ type: String, _ samples: [String]) {
      expected += ["# TYPE \(name)_jobs \(type)", "# UNIT \(name)_jobs jobs", "# HELP \(name)_jobs Jobs."]
      expected += samples.map { "\(name)_jobs\($0)" }
    }
    for name in ["a", "b", "c"] { expect(name, "counter", [#"_total{kind="x"} 1"#]) }
    for name in ["d", "e", "f"] { expect(name, "gauge", [#"{kind="x"} 1"#]) }
    let buckets = [#"_bucket{kind="x",le="4.0"} 1"#, #"_bucket{kind="x",le="+Inf"} 1"#]
    for name in ["g", "h"] {
      expect(name, "histogram", buckets + [#"_sum{kind="x"} 1"#, #"_count{kind="x"} 1"#])
    }
    expect("i", "gauge", [#"{kind="x"} 1"#])
    let lines = registry.exposition(in: .openMetrics).text.split(separator: "\n").map(String.init)
    #expect(lines.filter { !$0.contains("session_tap_") } == expected + ["# EOF"])
  }

  @Test func `a value or a sum that is no counter is left out`() throws {
    for (x, value) in [("1", Double.nan), ("2", -1), ("3", 7)] {
      try registry.counter("a_total", help: "", labels: ["x": x]) { value }
    }
    #expect(openMetrics == "# TYPE a counter\na_total{x=\"3\"} 7\n# EOF\n")
    try registry.histogram("h", help: "", buckets: [1]).record(-3)
    try registry.histogram("n", help: "", buckets: [-1, 1]).record(3)
    _ = try registry.histogram("e", help: "", buckets: [0])
    let lines = openMetrics.split(separator: "\n").filter { $0.contains("_sum") || $0.contains("_count") }
    #expect(lines == ["e_sum 0", "e_count 0"])
    #expect(openMetrics.contains("# TYPE n histogram\nn_bucket{le=\"-1.0\"} 0\n"))
    #expect(text.contains("h_sum -3\nh_count 1\n"))
  }

  @Test func `a time has whole milliseconds, the first of them in 1970`() {
    let rows: [(Int64, String)] = [
      (0, "0.000"), (999_999, "0.000"), (1_000_000, "0.001"), (1_795_229_000_999_999_999, "1795229000.999"),
      (-2_000_000_000, "0.000"),
    ]
    #expect(rows.map { FloatText.seconds(Timestamp(nanosecondsSinceEpoch: $0.0)) } == rows.map(\.1))
  }

  @Test(
    arguments: [
      0, 9, 10, 99, 100, 101, 65_535, 65_536, 999_999_999, 1_000_000_000, 9_999_999_999_999_999_999,
      10_000_000_000_000_000_000, .max,
    ] as [UInt64])
  func `a count of any length is written whole`(count: UInt64) throws {
    let layout = BucketLayout([268_435_456])
    var values = ValueHistogram(layout)
    values.counts[0] = count
    let descriptor = try FamilyDescriptor(name: "h", help: "", type: .histogram, unit: nil)
    let labels = RenderedLabels(Labels(["a": "b"]).pairs)
    let family = GatheredFamily(
      descriptor, overflowCount: nil, droppedCount: 0,
      series: [(labels: labels, content: .histogram(values))])
    #expect(
      Exposition(of: [family], in: .text).text == """
        # TYPE h histogram
        h_bucket{a="b",le="2.68435456e+08"} \(count)
        h_bucket{a="b",le="+Inf"} \(count)
        h_sum{a="b"} 0
        h_count{a="b"} \(count)

        """)
  }

  /// A registry looks at what a collector gives when it is registered. It may have other things at a
  /// scrape.
  @Test func `samples and families that have become invalid are left out`() throws {
    let pool = Pool()
    try registry.register(pool)
    let invalid: [Labels] = [["1x": "a"], ["__x": "a"], ["le": "a"], Labels([("x", "a"), ("x", "b")])]
    let families: [(String, [Labels])] = [
      ("pool", invalid + [["x": "c"]]), ("pool", [["x": "d"]]), ("late", [.none]),
    ]
    pool.families.withLock { $0 = families.map { Pool.family($0, labels: $1) } }
    #expect(openMetrics == "# TYPE pool gauge\npool{x=\"c\"} 1\n# EOF\n")
  }

  @Test func `an exemplar keeps no span alive, and is of now unless another time is given`() throws {
    final class Span: Sendable {}
    let histogram = try registry.histogram("h", help: "")
    weak var span: Span?
    let start = Timestamp.now
    do {
      let made = Span()
      span = made
      histogram.record(
        1, trace: TraceContext(traceparent: TraceContext.random(isSampled: true).traceparent, span: made))
    }
    let exemplar = try #require(histogram.snapshot.exemplars.compactMap(\.self).first)
    #expect(span == nil && (start...Timestamp.now).contains(exemplar.timestamp))
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
    // Of two with the same time, the one that was recorded last.
    histogram.record(0.5, trace: traces[0], at: Timestamp(nanosecondsSinceEpoch: 1))
    #expect(histogram.snapshot.exemplars.map(\.?.trace.traceID) == [traces[0].traceID, nil])
    // An earlier one that is recorded later.
    histogram.record(0.5, trace: traces[1], at: Timestamp(nanosecondsSinceEpoch: 0))
    #expect(histogram.snapshot.exemplars.map(\.?.trace.traceID) == [traces[0].traceID, nil])
  }
}

private final class Pool: Collector {
  let families = Mutex([Pool.family("pool", labels: [.none])])

  static func family(_ name: String, labels: [Labels]) -> MetricFamily {
    let samples = labels.map { MetricFamily.Sample(labels: $0, value: 1) }
    return MetricFamily(name: name, help: "", kind: .gauge, samples: samples)
  }

  func collect() -> [MetricFamily] { families.withLock { $0 } }
}
