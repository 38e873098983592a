import TestSupport

/// The text format 0.0.4, through public API only.
struct TextExpositionTests {
  private let registry = Registry()

  private var text: String { registry.text }

  @Test func `writes families by name and series by label values`() throws {
    let queue = try registry.gauge("queue_depth", help: "Jobs that wait.")
    let latency = try registry.histogram(
      "job_duration_seconds", help: "Duration of jobs.", buckets: [0.1, 1])
    let jobs = try registry.counter("jobs_total", help: "Jobs done.", by: JobLabels.self)

    queue.set(-2.5)
    latency.record(0.1)
    latency.record(.milliseconds(300))
    latency.record(7)
    jobs[JobLabels(kind: "sms")].increment(by: 2)
    jobs[JobLabels(kind: "email", queue: "slow")].increment()
    jobs[JobLabels(kind: "email", attempt: 2)].increment(by: 0.5)

    #expect(
      text == """
        # HELP job_duration_seconds Duration of jobs.
        # TYPE job_duration_seconds histogram
        job_duration_seconds_bucket{le="0.1"} 1
        job_duration_seconds_bucket{le="1.0"} 2
        job_duration_seconds_bucket{le="+Inf"} 3
        job_duration_seconds_sum 7.4
        job_duration_seconds_count 3
        # HELP jobs_total Jobs done.
        # TYPE jobs_total counter
        jobs_total{attempt="2",kind="email"} 0.5
        jobs_total{kind="email",queue="slow"} 1
        jobs_total{kind="sms"} 2
        # HELP queue_depth Jobs that wait.
        # TYPE queue_depth gauge
        queue_depth -2.5
        # HELP session_tap_series_overflow_total Label sets that found no room in their metric.
        # TYPE session_tap_series_overflow_total counter
        session_tap_series_overflow_total{metric="jobs_total"} 0

        """)
  }

  @Test func `escapes label values and help`() throws {
    let help = "Back\\slash, \"quote\" and\nnew line."
    try registry.gauge("a", help: help, labels: ["path": "C:\\dir\n\"x\" é"]).set(1)
    #expect(
      text == """
        # HELP a Back\\\\slash, "quote" and\\nnew line.
        # TYPE a gauge
        a{path="C:\\\\dir\\n\\"x\\" é"} 1

        """)
  }

  @Test(arguments: [
    (0.0, "0"), (-0.0, "0"), (1, "1"), (0.1, "0.1"), (-3, "-3"), (1e15, "1000000000000000"),
    (0x1p53, "9007199254740992.0"), (1e300, "1e+300"), (-1e300, "-1e+300"),
    (.leastNonzeroMagnitude, "5e-324"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
  ])
  func `writes the shortest number that reads back the same`(value: Double, written: String) throws {
    try registry.gauge("g", help: "").set(value)
    #expect(text.hasSuffix("\ng \(written)\n"))
    if value.isFinite { #expect(Double(written) == value) }
  }

  @Test(arguments: [
    (1.0, "1.0"), (0.005, "0.005"), (0.0001, "0.0001"), (0.00001, "1e-05"), (1.5e-7, "1.5e-07"),
    (-2.5, "-2.5"), (0, "0.0"), (64, "64.0"), (262_144, "262144.0"), (999_999, "999999.0"),
    (1_000_000, "1e+06"), (268_435_456, "2.68435456e+08"), (1e100, "1e+100"), (-0.25, "-0.25"),
    (123.456, "123.456"), (-1_500_000, "-1.5e+06"), (1_234_567.25, "1.23456725e+06"), (1e10, "1e+10"),
  ])
  func `writes bounds as Prometheus does`(bound: Double, written: String) throws {
    try registry.histogram("h", help: "", buckets: [bound]).record(bound)
    #expect(text.contains("h_bucket{le=\"\(written)\"} 1\n"))
  }

  @Test func `an empty registry is empty`() {
    #expect(text.isEmpty)
    #expect(registry.exposition().contentType == "text/plain; version=0.0.4; charset=utf-8")
    #expect(registry.exposition(accept: "application/openmetrics-text").text == "# EOF\n")
  }

  @Test func `collectors stand among the families`() throws {
    struct Pool: Collector {
      func collect() -> [MetricFamily] {
        [
          MetricFamily(
            name: "pool_connections", help: "Connections.", kind: .gauge,
            samples: [
              .init(labels: ["state": "idle"], value: 3), .init(labels: ["state": "busy"], value: 1),
              .init(labels: ["state": "idle"], value: 9),
            ]),
          MetricFamily(
            name: "pool_opened_total", help: "Opened.", kind: .counter, samples: [.init(value: 4)]),
        ]
      }
    }
    try registry.register(Pool())
    try registry.register(BuildInfo())
    #expect(
      text == """
        # HELP pool_connections Connections.
        # TYPE pool_connections gauge
        pool_connections{state="busy"} 1
        pool_connections{state="idle"} 3
        # HELP pool_opened_total Opened.
        # TYPE pool_opened_total counter
        pool_opened_total 4
        # HELP session_tap_build_info The version of SessionTap.
        # TYPE session_tap_build_info gauge
        session_tap_build_info{version="\(BuildInfo.version)"} 1

        """)
  }
}
