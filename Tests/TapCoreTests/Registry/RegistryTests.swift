import TestSupport

struct RegistryTests {
  private let registry = Registry()

  @Test func `the same metric is the same instrument`() throws {
    let first = try registry.counter("jobs_total", help: "Jobs.")
    let second = try registry.counter("jobs_total", help: "Jobs.")
    #expect(first === second)

    let byKind = try registry.gauge("depth", help: "Depth.", by: JobLabels.self)
    #expect(try registry.gauge("depth", help: "Depth.", by: JobLabels.self) === byKind)
    #expect(byKind[JobLabels(kind: "a")] === byKind[JobLabels(kind: "a")])
    #expect(byKind[JobLabels(kind: "a")] !== byKind[JobLabels(kind: "b")])
  }

  @Test func `labels are equal in any order`() throws {
    let first = try registry.counter("jobs_total", help: "", labels: ["b": "2", "a": "1"])
    let second = try registry.counter("jobs_total", help: "", labels: Labels(["a": "1", "b": "2"]))
    #expect(first === second)
  }

  @Test(arguments: ["", "1st_total", "a-b_total", "ü_total", "a b_total", "a\n_total", "_total\u{0}"])
  func `refuses names`(name: String) {
    #expect(throws: RegistryError.self) { try registry.counter(name, help: "") }
    expect(.invalidName) { try registry.gauge(name, help: "") }
  }

  /// `[a-zA-Z_:][a-zA-Z0-9_:]*` for metrics, and for labels the same without colons.
  @Test func `takes each character where a name may have it`() {
    let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_".unicodeScalars)
    let digits = Set("0123456789".unicodeScalars)
    for scalar in (UInt8.min...0x7F).map({ UnicodeScalar($0) }) {
      let isHead = letters.contains(scalar)
      for (name, isLabel) in [("\(scalar)x", isHead), ("x\(scalar)", isHead || digits.contains(scalar))] {
        let isTaken = code { try Registry().gauge(name, help: "") } == nil
        #expect(isTaken == (isLabel || scalar == ":"), "\(name)")
        let isTakenAsLabel = code { try Registry().gauge("g", help: "", labels: [name: ""]) } == nil
        #expect(isTakenAsLabel == isLabel, "\(name)")
      }
    }
    // Two underscores are Prometheus's at the beginning alone.
    expect(nil) { try Registry().gauge("g__h", help: "", labels: ["_": "1", "a__b": "2", "c__": "3"]) }
  }

  @Test func `refuses a counter without total`() {
    expect(.counterWithoutTotal) { try registry.counter("jobs", help: "") }
    expect(.counterWithoutTotal) { try registry.counter("_total", help: "") }
  }

  @Test func `refuses a unit that is not in the name`() {
    expect(.unitNotInName) { try registry.gauge("duration", help: "", unit: "seconds") }
    expect(.unitNotInName) { try registry.counter("sent_total", help: "", unit: "bytes") }
    expect(.unitNotInName) { try registry.gauge("milliseconds", help: "", unit: "seconds") }
    // The sign of the kelvin, which is equal to a K and has other bytes.
    expect(.unitNotInName) { try registry.gauge("heat_K", help: "", unit: "\u{212a}") }
    expect(nil) { try registry.counter("sent_bytes_total", help: "", unit: "bytes") }
  }

  @Test(arguments: ["", "1a", "a-b", "a:b", "__name__", "é"])
  func `refuses label names`(name: String) {
    expect(.invalidLabelName) { try registry.gauge("g", help: "", labels: [name: "x"]) }
  }

  @Test func `refuses reserved and repeated labels`() {
    struct Key: LabelSet { static let labels = [Label<Key>("le", { _ in "1" })] }
    expect(.reservedLabelName) { try registry.histogram("h", help: "", by: Key.self) }
    expect(.reservedLabelName) { try registry.gauge("g", help: "", labels: ["quantile": "1"]) }
    expect(.reservedLabelName) { try registry.gauge("g", help: "", labels: ["otel_metric_overflow": ""]) }
    expect(.duplicateLabelName) { try registry.gauge("g", help: "", labels: ["a": "1", "a": "2"]) }
  }

  @Test(arguments: [
    [], [1, 1], [2, 1], [.nan], [-.infinity, 1], [1, .infinity, .infinity], (0...256).map(Double.init),
  ])
  func `refuses buckets`(bounds: [Double]) {
    expect(.invalidBuckets) { try registry.histogram("h", help: "", buckets: HistogramBuckets(bounds)) }
  }

  @Test func `refuses another metric of the same name`() throws {
    _ = try registry.gauge("a", help: "A.")
    expect(.conflictingType) { try registry.histogram("a", help: "A.") }
    expect(.conflictingDescription) { try registry.gauge("a", help: "B.") }
    expect(.conflictingLabels) { try registry.gauge("a", help: "A.", by: JobLabels.self) }
    expect(.conflictingLabels) { try registry.gauge("a", help: "A.") { 1 } }
    _ = try registry.gauge("b_jobs", help: "B.")
    expect(.conflictingDescription) { try registry.gauge("b_jobs", help: "B.", unit: "jobs") }

    // Of a collector with several, that of the name counts.
    let opened = MetricFamily(name: "opened_total", help: "", kind: .counter, samples: [])
    let idle = MetricFamily(name: "idle", help: "", kind: .gauge, samples: [])
    try registry.register(Families([opened, idle]))
    expect(.conflictingLabels) { try registry.gauge("idle", help: "") }
    expect(.conflictingType) { try registry.histogram("idle", help: "") }
    expect(.conflictingDescription) { try registry.gauge("idle", help: "Idle.") }

    _ = try registry.histogram("h", help: "H.", buckets: [1, 2])
    expect(.conflictingBuckets) { try registry.histogram("h", help: "H.", buckets: [1, 3]) }
    expect(nil) { try registry.histogram("h", help: "H.", buckets: [1, 2, .infinity]) }

    _ = try registry.histogram("s", help: "", buckets: .seconds)
    expect(nil) { try registry.histogram("s", help: "") }
    _ = try registry.histogram("t", help: "", buckets: .seconds, by: JobLabels.self)
    expect(nil) { try registry.histogram("t", help: "", by: JobLabels.self) }
  }

  @Test(arguments: [
    ("h", "h_count"), ("h", "h_sum"), ("h", "h_bucket"), ("h", "h_created"), ("a_total", "a"),
    ("a_total", "a_created"), ("b_info", "b"),
  ])
  func `refuses a name that another metric takes in some format`(name: String, other: String) throws {
    func register(_ name: String, in registry: Registry) throws {
      switch name {
      case "a_total": _ = try registry.counter(name, help: "")
      case "b_info": try registry.register(Families([.init(name: name, help: "", kind: .info, samples: [])]))
      case "h": _ = try registry.histogram(name, help: "")
      default: _ = try registry.gauge(name, help: "")
      }
    }
    for (first, second) in [(name, other), (other, name)] {
      let registry = Registry()
      try register(first, in: registry)
      expect(.nameTaken) { try register(second, in: registry) }
    }
    // The name itself, too.
    let registry = Registry()
    try register(name, in: registry)
    expect(.nameTaken) {
      try registry.register(Families([.init(name: name, help: "", kind: .gauge, samples: [])]))
    }
  }

  @Test func `refuses the names of its own`() {
    expect(.nameTaken) { try registry.counter("session_tap_series_overflow_total", help: "") }
    expect(.nameTaken) { try registry.gauge("session_tap_dropped_values", help: "") }
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
    let families = ["free", "taken"].map {
      MetricFamily(name: $0, help: "", kind: .gauge, samples: [.init(value: 1)])
    }
    expect(.nameTaken) { try registry.register(Families(families)) }
    expect(nil) { try registry.register(Families([families[0]])) }
    expect(.conflictingLabels) { try registry.gauge("free", help: "") }
    #expect(!registry.removeSeries(of: "free", labels: .none))
    #expect(registry.lines == ["# TYPE free gauge", "free 1", "# TYPE taken gauge", "taken 0"])
  }

  @Test func `a collector's labels are checked when it is registered, and the values of an info alone`() {
    let first = MetricFamily(name: "first", help: "", kind: .gauge, samples: [.init(value: 1)])
    var family = MetricFamily(name: "a_total", help: "", kind: .counter, samples: [.init(value: -1)])
    family.samples[0].labels = ["le": "1"]
    expect(.reservedLabelName) { try registry.register(Families([family])) }
    expect(.reservedLabelName) { try registry.register(Families([first, family])) }
    family.samples.insert(.init(value: 3), at: 0)
    expect(.reservedLabelName) { try registry.register(Families([family])) }
    family.samples[1].labels = ["a": "1"]
    expect(nil) { try registry.register(Families([first, family])) }
    // At a scrape a counter that is below 0 is left out.
    #expect(registry.lines == ["# TYPE a_total counter", "a_total 3", "# TYPE first gauge", "first 1"])
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

  @Test func `an info is one`() throws {
    var family = MetricFamily(name: "build_info", help: "", kind: .info, samples: [.init(value: 2)])
    expect(.infoNotOne) { try registry.register(Families([family])) }
    (family.samples[0].value, family.unit) = (1, "build")
    expect(.unitNotInName) { try registry.register(Families([family])) }
    (family.name, family.unit) = ("build_info", nil)
    family.samples.append(.init(labels: ["a": "1"], value: 0))
    expect(.infoNotOne) { try registry.register(Families([family])) }
    for name in ["build", "_info"] {
      (family.name, family.unit) = (name, nil)
      expect(.infoWithoutSuffix) { try registry.register(Families([family])) }
    }
  }

  @Test func `errors name cause and remedy`() throws {
    struct Key: LabelSet { static let labels = [Label<Key>("quantile", { _ in "1" })] }
    let info = MetricFamily(name: "b_info", help: "", kind: .info, samples: [.init(value: 2)])
    _ = try registry.histogram("h", help: "", buckets: [1])
    try registry.gauge("g", help: "") { 1 }
    var texts: [String] = []
    func refused(_ body: () throws -> Any) {
      texts.append(#expect(throws: RegistryError.self) { _ = try body() }?.description ?? "")
    }
    refused { try registry.gauge("1st", help: "") }
    refused { try registry.counter("jobs", help: "") }
    refused { try registry.register(Families([with(info) { $0.name = "b" }])) }
    refused { try registry.register(Families([info])) }
    refused { try registry.gauge("wait", help: "", unit: "seconds") }
    refused { try registry.gauge("g", help: "", labels: ["1st": ""]) }
    refused { try registry.gauge("g", help: "", labels: ["le": ""]) }
    refused { try registry.gauge("g", help: "", by: Key.self) }
    refused { try registry.register(Families([with(info) { $0.samples[0].labels = ["le": "1"] }])) }
    refused { try registry.gauge("g", help: "", labels: ["a": "1", "a": "2"]) }
    refused { try registry.histogram("h", help: "", buckets: []) }
    refused { try registry.gauge("h", help: "") }
    refused { try registry.histogram("h", help: "H.", buckets: [1]) }
    refused { try registry.histogram("h", help: "") }
    refused { try registry.histogram("h", help: "", buckets: [1], by: JobLabels.self) }
    refused { try registry.counter("g_total", help: "") }
    refused { try registry.gauge("g", help: "") { 2 } }
    #expect(
      texts.joined(separator: "\n") == """
        metric '1st': not a metric name; use letters, digits, '_' and ':', and no digit first
        metric 'jobs': a counter's name ends in '_total' (OpenMetrics); add it
        metric 'b': an info metric's name ends in '_info'; add it
        metric 'b_info' ('2.0'): the value of an info metric is 1; use labels for what it says, or a gauge
        metric 'wait' ('seconds'): the unit must be the last part of the name, before '_total', and an info has none; rename or leave it out
        metric 'g' ('1st'): not a label name; use letters, digits and '_', no digit and no '__' first
        metric 'g' ('le'): the label is one that the exposition itself writes; rename it
        metric 'g' ('quantile'): the label is one that the exposition itself writes; rename it
        metric 'b_info' ('le'): the label is one that the exposition itself writes; rename it
        metric 'g' ('a'): the label stands twice; remove one
        metric 'h': buckets must be 1 to 256 finite bounds in ascending order
        metric 'h': already registered with another type; choose another name
        metric 'h': already registered with another help text or unit; make them the same
        metric 'h': already registered with other buckets; make them the same
        metric 'h': already registered with another type of label key; use the same everywhere
        metric 'g_total' ('g'): the name or one derived from it belongs to another metric; choose another name
        metric 'g' ('a callback with the same labels'): the name or one derived from it belongs to another metric; choose another name
        """)
  }

  @Test func `a full family puts the rest into one series`() throws {
    let jobs = try registry.counter(
      "jobs_total", help: "", by: JobLabels.self, configuration: .init(limit: 2))
    for kind in ["a", "b", "c", "d", "a", "c"] { jobs[JobLabels(kind: kind)].increment() }
    #expect(jobs[JobLabels(kind: "e")] === jobs[JobLabels(kind: "f")])

    let lines = registry.text.split(separator: "\n")
    #expect(
      lines.filter { $0.hasPrefix("jobs_total") } == [
        #"jobs_total{kind="a"} 2"#, #"jobs_total{kind="b"} 1"#, #"jobs_total{otel_metric_overflow="true"} 3"#,
      ])
    #expect(lines.contains(#"session_tap_series_overflow_total{metric="jobs_total"} 5"#))
  }

  @Test func `labels named at run time overflow too`() throws {
    for n in 0..<2_003 { try registry.counter("a_total", help: "", labels: ["n": "\(n)"]).increment() }
    for n in 0..<2_001 {
      try registry.histogram("h", help: "", buckets: [1], labels: ["n": "\(n)"]).record(1)
    }
    try registry.counter("b_total", help: "").increment()
    let lines = registry.text.split(separator: "\n")
    #expect(lines.contains(#"h_count{otel_metric_overflow="true"} 1"#))
    #expect(lines.contains(#"a_total{otel_metric_overflow="true"} 3"#))
    #expect(
      lines.filter { $0.hasPrefix("session_tap_series_overflow_total") }
        == [
          #"session_tap_series_overflow_total{metric="a_total"} 3"#,
          #"session_tap_series_overflow_total{metric="h"} 1"#,
        ])
  }

  @Test func `values that no instrument takes are counted`() throws {
    let counter = try registry.counter("a_total", help: "")
    counter.increment(by: -1)
    counter.increment(by: -0.5)
    counter.increment(by: .nan)
    let histogram = try registry.histogram("h", help: "")
    histogram.record(.infinity)
    histogram.record(.nan, trace: .random(isSampled: true))
    #expect(counter.value == 0)
    #expect(histogram.snapshot.count == 0)
    let text = registry.text
    #expect(text.contains(#"session_tap_dropped_values_total{metric="a_total"} 3"#))
    #expect(text.contains(#"session_tap_dropped_values_total{metric="h"} 2"#))
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
