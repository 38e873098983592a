import TestSupport

struct RegistryTests {
  private let registry = Registry()

  @Test func `the same metric is the same instrument, whatever the order of its labels`() throws {
    for labels: [Labels] in [[.none, .none], [["b": "2", "a": "1"], Labels(["a": "1", "b": "2"])]] {
      let counters = try labels.map { try registry.counter("jobs_total", help: "Jobs.", labels: $0) }
      #expect(counters[0] === counters[1])
    }
    let byKind = try registry.gauge("depth", help: "Depth.", by: JobLabels.self)
    #expect(try registry.gauge("depth", help: "Depth.", by: JobLabels.self) === byKind)
    #expect(byKind[JobLabels(kind: "a")] === byKind[JobLabels(kind: "a")])
    #expect(byKind[JobLabels(kind: "a")] !== byKind[JobLabels(kind: "b")])
  }

  /// `[a-zA-Z_:][a-zA-Z0-9_:]*` for metrics, and for labels the same without colons.
  @Test func `takes each character where a name may have it`() {
    let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_".unicodeScalars)
    let digits = Set("0123456789".unicodeScalars)
    for scalar in (UInt8.min...0x7F).map({ UnicodeScalar($0) }) {
      let isHead = letters.contains(scalar)
      for (name, isLabel) in [("\(scalar)x", isHead), ("x\(scalar)", isHead || digits.contains(scalar))] {
        let isTaken = code { try Registry().gauge(name, help: "") } == nil
        let isTakenAsLabel = code { try Registry().gauge("g", help: "", labels: [name: ""]) } == nil
        #expect([isTaken, isTakenAsLabel] == [isLabel || scalar == ":", isLabel], "\(name)")
      }
    }
    // Two underscores are Prometheus's at the beginning alone.
    expect(nil) { try Registry().gauge("g__h", help: "", labels: ["_": "1", "a__b": "2", "c__": "3"]) }
  }

  @Test func `refuses names, units, labels and buckets`() {
    for name in ["", "ü_total", "1st_total"] {
      expect(.invalidName) { try registry.counter(name, help: "") }
      expect(.invalidName) { try registry.gauge(name, help: "") }
    }
    for name in ["jobs", "_total"] { expect(.counterWithoutTotal) { try registry.counter(name, help: "") } }
    expect(.unitNotInName) { try registry.counter("sent_total", help: "", unit: "bytes") }
    expect(.unitNotInName) { try registry.gauge("milliseconds", help: "", unit: "seconds") }
    // The sign of the kelvin, which is equal to a K and has other bytes.
    expect(.unitNotInName) { try registry.gauge("heat_K", help: "", unit: "\u{212a}") }
    expect(nil) { try registry.counter("sent_bytes_total", help: "", unit: "bytes") }
    for name in ["", "__name__", "é"] {
      expect(.invalidLabelName) { try registry.gauge("g", help: "", labels: [name: "x"]) }
    }
    for name in ["quantile", "otel_metric_overflow"] {
      expect(.reservedLabelName) { try registry.gauge("g", help: "", labels: [name: "1"]) }
    }
    struct Key: LabelSet { static let labels = [Label<Key>("quantile", { _ in "1" })] }
    expect(.reservedLabelName) { try registry.gauge("g", help: "", by: Key.self) }
    expect(.duplicateLabelName) { try registry.gauge("g", help: "", labels: ["a": "1", "a": "2"]) }
    let bounds: [[Double]] = [
      [], [1, 1], [2, 1], [.nan], [-.infinity, 1], [1, .infinity, .infinity], (0...256).map(Double.init),
    ]
    for bounds in bounds {
      expect(.invalidBuckets) { try registry.histogram("h", help: "", buckets: HistogramBuckets(bounds)) }
    }
    // The names of its own.
    expect(.nameTaken) { try registry.counter("session_tap_series_overflow_total", help: "") }
    expect(.nameTaken) { try registry.gauge("session_tap_dropped_values", help: "") }
  }

  @Test func `refuses another metric of the same name`() throws {
    _ = try registry.gauge("a", help: "A.")
    expect(.conflictingDescription) { try registry.gauge("a", help: "B.") }
    expect(.conflictingLabels) { try registry.gauge("a", help: "A.", by: JobLabels.self) }
    expect(.conflictingLabels) { try registry.gauge("a", help: "A.") { 1 } }
    try registry.gauge("c", help: "") { 1 }
    expect(.nameTaken) { try registry.gauge("c", help: "") { 2 } }
    _ = try registry.gauge("b_jobs", help: "B.")
    expect(.conflictingDescription) { try registry.gauge("b_jobs", help: "B.", unit: "jobs") }

    // One with a name of another library's takes what others make of it.
    _ = try registry.counter(legacyName: "tasks", help: "Done.")
    for name in ["tasks", "tasks_total"] {
      #expect(throws: RegistryError.self) { try registry.counter(name, help: "Done.") }
    }
    expect(.conflictingType) { try registry.gauge("tasks", help: "Done.") }

    // Of a collector with several, that of the name counts.
    try registry.register(Families([family("opened_total", .counter, []), family("idle", .gauge, [])]))
    expect(.conflictingLabels) { try registry.gauge("idle", help: "") }
    expect(.conflictingType) { try registry.histogram("idle", help: "") }
    expect(.conflictingDescription) { try registry.gauge("idle", help: "Idle.") }

    _ = try registry.histogram("h", help: "H.", buckets: [1, 2])
    expect(nil) { try registry.histogram("h", help: "H.", buckets: [1, 2, .infinity]) }
    expect(.conflictingBuckets) { try registry.histogram("h", help: "H.") }
    expect(.conflictingLabels) {
      try registry.histogram("h", help: "H.", buckets: [1, 2], by: JobLabels.self)
    }
    _ = try registry.histogram("s", help: "", buckets: .seconds)
    expect(nil) { try registry.histogram("s", help: "") }
    _ = try registry.histogram("t", help: "", buckets: .seconds, by: JobLabels.self)
    expect(nil) { try registry.histogram("t", help: "", by: JobLabels.self) }
  }

  @Test func `refuses a name that another metric takes in some format`() throws {
    func register(_ name: String, in registry: Registry) throws {
      switch name {
      case "a_total": _ = try registry.counter(name, help: "")
      case "b_info": try registry.register(Families([family(name, .info, [])]))
      case "h": _ = try registry.histogram(name, help: "")
      default: _ = try registry.gauge(name, help: "")
      }
    }
    let clashes = [
      ("h", "h_count"), ("h", "h_sum"), ("h", "h_bucket"), ("h", "h_created"), ("a_total", "a"),
      ("a_total", "a_created"), ("b_info", "b"),
    ]
    for (name, other) in clashes {
      for (first, second) in [(name, other), (other, name)] {
        let registry = Registry()
        try register(first, in: registry)
        expect(.nameTaken) { try register(second, in: registry) }
      }
      // The name itself, too.
      let registry = Registry()
      try register(name, in: registry)
      expect(.nameTaken) { try registry.register(Families([family(name, .gauge, [])])) }
    }
  }

  /// One at a time and all at once are the same to a registry.
  @Test func `a collector is refused as its families would be`() throws {
    var random = ClashingFamilies(seed: 1)
    var refused = 0
    let count = Extent.of(100, extensive: 500)
    for _ in 0..<count {
      let families = random.families()
      let single = Registry()
      let isRefused = code { try families.forEach { try single.register(Families([$0])) } } != nil
      #expect((code { try Registry().register(Families(families)) } != nil) == isRefused)
      refused += isRefused ? 1 : 0
    }
    #expect((count / 5..<count * 4 / 5).contains(refused))
  }

  @Test func `a collector that is refused leaves nothing behind`() throws {
    _ = try registry.gauge("taken", help: "")
    let families = ["free", "taken"].map { family($0, .gauge, [.init(value: 1)]) }
    expect(.nameTaken) { try registry.register(Families(families)) }
    expect(nil) { try registry.register(Families([families[0]])) }
    expect(.conflictingLabels) { try registry.gauge("free", help: "") }
    #expect(!registry.removeSeries(of: "free", labels: .none))
    #expect(registry.lines == ["# TYPE free gauge", "free 1", "# TYPE taken gauge", "taken 0"])
  }

  @Test func `a collector's labels are checked when it is registered, and the values of an info alone`() {
    let first = family("first", .gauge, [.init(value: 1)])
    var counter = family("a_total", .counter, [.init(labels: ["le": "1"], value: -1)])
    expect(.reservedLabelName) { try registry.register(Families([counter])) }
    expect(.reservedLabelName) { try registry.register(Families([first, counter])) }
    counter.samples.insert(.init(value: 3), at: 0)
    expect(.reservedLabelName) { try registry.register(Families([counter])) }
    counter.samples[1].labels = ["a": "1"]
    expect(nil) { try registry.register(Families([first, counter])) }
    // At a scrape a counter that is below 0 is left out.
    #expect(registry.lines == ["# TYPE a_total counter", "a_total 3", "# TYPE first gauge", "first 1"])

    let info = family("build_info", .info, [.init(value: 1), .init(labels: ["a": "1"], value: 0)])
    expect(.infoNotOne) { try registry.register(Families([info])) }
    let unit = with(family("build_info", .info, [.init(value: 1)])) { $0.unit = "build" }
    expect(.unitNotInName) { try registry.register(Families([unit])) }
    for name in ["b", "_info"] {
      expect(.infoWithoutSuffix) { try registry.register(Families([family(name, .info, [])])) }
    }
  }

  /// With a lock held, the process would end.
  @Test func `what an app gives a registry may use it`() throws {
    let registry = Registry()
    try registry.counter("a_total", help: "").increment()
    try registry.gauge("g", help: "") { [weak registry] in registry?.value(of: "a_total") ?? .nan }
    try registry.register(
      AskedCollector { [weak registry] in try? registry?.counter("a_total", help: "").increment() })
    #expect(registry.lines == ["# TYPE a_total counter", "a_total 2", "# TYPE g gauge", "g 3"])
  }

  @Test func `an error names the metric, and what is wrong with it`() throws {
    let error = #expect(throws: RegistryError.self) {
      try registry.gauge("g", help: "", labels: ["le": ""])
    }
    let words = "the label is one that the exposition itself writes; rename it"
    #expect(error?.description == "metric 'g' ('le'): \(words)")
  }

  @Test func `labels named at run time have 2,000 series of a metric, and callbacks any number`() throws {
    for n in 0..<2_003 { try registry.counter("a_total", help: "", labels: ["n": "\(n)"]).increment() }
    for n in 0..<2_001 {
      try registry.histogram("h", help: "", buckets: [1], labels: ["n": "\(n)"]).record(1)
    }
    try registry.counter("b_total", help: "").increment()
    for n in 0..<2_500 { try registry.gauge("depth", help: "", labels: ["queue": "\(n)"]) { 1 } }
    let lines = registry.lines.filter { $0.contains("overflow") && !$0.hasPrefix("#") }
    #expect(
      lines == [
        #"a_total{otel_metric_overflow="true"} 3"#, #"h_bucket{otel_metric_overflow="true",le="1.0"} 1"#,
        #"h_bucket{otel_metric_overflow="true",le="+Inf"} 1"#, #"h_sum{otel_metric_overflow="true"} 1"#,
        #"h_count{otel_metric_overflow="true"} 1"#,
        #"session_tap_series_overflow_total{metric="a_total"} 3"#,
        #"session_tap_series_overflow_total{metric="h"} 1"#,
      ])
    #expect(registry.value(of: "depth") == 2_500)
  }

  // MARK: The value of a sample, as a test of an app asks for it

  @Test func `a value is the sum over the series that have the labels`() throws {
    // As the exposition has it, a label value has at most 256 bytes. It is found by its whole text.
    let long = String(repeating: "é", count: 200)
    for (kind, shop, count) in [("a", "x", 1), ("b", "x", 2), ("b", "y\"\\\n", 4), (long, "", 8)] {
      try registry.counter("jobs_total", help: "", labels: ["kind": kind, "shop": shop]).increment(by: count)
    }
    let rows: [([String: String], Double?)] = [
      ([:], 15), (["kind": "b"], 6), (["kind": "b", "shop": "y\"\\\n"], 4),
      (["kind": "a", "shop": "y"], nil),
      (["kind": "a", "other": ""], 1), (["other": "z"], nil), (["kind": long], 8),
    ]
    #expect(rows.map { registry.value(of: "jobs_total", labels: $0.0) } == rows.map(\.1))
    // A histogram has a count and a sum.
    let histogram = try registry.histogram("wait_seconds", help: "")
    for value in [0.5, 2.5] { histogram.record(value) }
    try registry.gauge("queue", help: "").set(-3)
    try registry.gauge("queue_count", help: "").set(9)
    try registry.counter(legacyName: "tasks", help: "").increment(by: 2)
    let values: [(String, Double?)] = [
      ("wait_seconds_count", 2), ("wait_seconds_sum", 3), ("wait_seconds", nil), ("queue", -3),
      ("queue_count", 9), ("jobs", nil), ("jobs_total_of_all", nil), ("none", nil),
      ("tasks", 2),
    ]
    #expect(values.map { registry.value(of: $0.0) } == values.map(\.1))
  }

  /// The second answer is one that a counter refuses.
  @Test func `a callback is asked once`() throws {
    let answers = Mutex([3, Double.nan])
    try registry.counter("jobs_total", help: "") { answers.withLock { $0.isEmpty ? -1 : $0.removeFirst() } }
    #expect([registry.value(of: "jobs_total"), registry.value(of: "jobs_total")] == [3, nil])
    #expect(answers.withLock { $0.isEmpty })
  }

  @Test func `an exposition is limited to the metrics that are named, or a sample of theirs`() throws {
    try registry.counter("a_total", help: "").increment()
    try registry.gauge("g", help: "").set(1)
    try registry.histogram("h", help: "").record(1)
    try registry.register(BuildInfo())
    let rows = [
      ("a_total", "a"), ("a", "a"), ("a_created", "a"), ("g", "g"), ("h", "h"), ("h_bucket", "h"),
      ("h_sum", "h"), ("h_count", "h"), ("h_created", "h"), ("session_tap_build", "session_tap_build"),
      ("session_tap_build_info", "session_tap_build"), ("h_", ""),
    ]
    let found = rows.map { name, _ in
      registry.exposition(in: .openMetrics, names: [name, "none"]).text.matches(of: /TYPE (\w+)/)
        .map { String($0.1) }
    }
    #expect(found == rows.map { $0.1.isEmpty ? [] : [$0.1] })
  }

  private func family(
    _ name: String, _ kind: MetricFamily.Kind, _ samples: [MetricFamily.Sample]
  ) -> MetricFamily {
    MetricFamily(name: name, help: "", kind: kind, samples: samples)
  }

  private func expect(
    _ code: RegistryError.Code?, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Any
  ) {
    #expect(self.code(body) == code, sourceLocation: sourceLocation)
  }

  private func code(_ body: () throws -> Any) -> RegistryError.Code? {
    do { _ = try body() } catch { return (error as? RegistryError)?.code }
    return nil
  }
}

struct Families: Collector {
  let families: [MetricFamily]

  init(_ families: [MetricFamily]) { self.families = families }

  func collect() -> [MetricFamily] { families }
}
