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

  @Test func `refuses a counter without total`() {
    expect(.counterWithoutTotal) { try registry.counter("jobs", help: "") }
    expect(.counterWithoutTotal) { try registry.counter("_total", help: "") }
  }

  @Test func `refuses a unit that is not in the name`() {
    expect(.unitNotInName) { try registry.gauge("duration", help: "", unit: "seconds") }
    expect(.unitNotInName) { try registry.counter("sent_total", help: "", unit: "bytes") }
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

    _ = try registry.histogram("h", help: "H.", buckets: [1, 2])
    expect(.conflictingBuckets) { try registry.histogram("h", help: "H.", buckets: [1, 3]) }
    expect(nil) { try registry.histogram("h", help: "H.", buckets: [1, 2, .infinity]) }
  }

  @Test(arguments: ["h_count", "h_sum", "h_bucket", "h_created"])
  func `refuses a name that a histogram takes`(name: String) throws {
    _ = try registry.histogram("h", help: "")
    expect(.nameTaken) { try registry.gauge(name, help: "") }
  }

  @Test func `refuses the names of its own`() {
    expect(.nameTaken) { try registry.counter("session_tap_series_overflow_total", help: "") }
    expect(.nameTaken) { try registry.gauge("session_tap_dropped_values", help: "") }
  }

  /// One at a time and all at once are the same to a registry.
  @Test func `a collector is refused as its families would be`() throws {
    var random = ClashingFamilies(seed: 1)
    var refused = 0
    for _ in 0..<500 {
      let families = random.families()
      let single = Registry()
      let isRefused = code { try families.forEach { try single.register(Families([$0])) } } != nil
      #expect((code { try Registry().register(Families(families)) } != nil) == isRefused)
      refused += isRefused ? 1 : 0
    }
    #expect((100..<400).contains(refused))
  }

  @Test func `an info is one`() throws {
    var family = MetricFamily(name: "build_info", help: "", kind: .info, samples: [.init(value: 2)])
    expect(.infoNotOne) { try registry.register(Families([family])) }
    (family.samples[0].value, family.unit) = (1, "build")
    expect(.unitNotInName) { try registry.register(Families([family])) }
  }

  @Test func `errors name cause and remedy`() throws {
    let error = try #require(throws: RegistryError.self) { try registry.counter("jobs", help: "") }
    #expect(error.description == "metric 'jobs': a counter's name ends in '_total' (OpenMetrics); add it")
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
    try registry.counter("b_total", help: "").increment()
    let lines = registry.text.split(separator: "\n")
    #expect(lines.contains(#"a_total{otel_metric_overflow="true"} 3"#))
    #expect(
      lines.filter { $0.hasPrefix("session_tap_series_overflow_total") }
        == [#"session_tap_series_overflow_total{metric="a_total"} 3"#])
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

private struct Families: Collector {
  let families: [MetricFamily]

  init(_ families: [MetricFamily]) { self.families = families }

  func collect() -> [MetricFamily] { families }
}
