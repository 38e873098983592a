import TestSupport

@testable import TapCore

struct SeriesTableTests {
  private let registry = Registry()
  private let start = Instant.now

  private func names(after seconds: Int) -> [String] {
    registry.samples(seconds, after: start).filter { !$0.hasPrefix("session_tap") }
  }

  @Test func `removed series are gone`() throws {
    let family = try registry.counter("a_total", help: "", by: JobLabels.self)
    let kept = family[JobLabels(kind: "x")]
    kept.increment()
    family[JobLabels(kind: "y")].increment()
    #expect(family.remove(JobLabels(kind: "x")))
    #expect(!family.remove(JobLabels(kind: "x")))
    kept.increment()
    #expect(names(after: 0) == [#"a_total{kind="y"} 1"#])
    family[JobLabels(kind: "x")].increment()
    #expect(names(after: 0) == [#"a_total{kind="x"} 1"#, #"a_total{kind="y"} 1"#])
    #expect(family[JobLabels(kind: "x")] !== kept)
  }

  @Test func `series with run time labels are removed by name`() throws {
    try registry.gauge("g", help: "", labels: ["a": "1"]).set(1)
    try registry.gauge("g", help: "", labels: ["a": "2"]).set(2)
    try registry.gauge("c", help: "") { 3 }
    #expect(registry.removeSeries(of: "g", labels: ["a": "1"]))
    #expect(!registry.removeSeries(of: "g", labels: ["a": "1"]))
    #expect(!registry.removeSeries(of: "none", labels: .none))
    // Nothing expires by itself.
    for second in [0, 1_000_000_000] { #expect(names(after: second) == ["c 3", #"g{a="2"} 2"#]) }
  }

  @Test func `room is free again after a removal`() throws {
    let family = try registry.gauge("g", help: "", by: JobLabels.self, configuration: .init(limit: 1))
    family[JobLabels(kind: "a")].set(1)
    family[JobLabels(kind: "b")].set(2)
    #expect(names(after: 0) == [#"g{kind="a"} 1"#, #"g{otel_metric_overflow="true"} 2"#])
    family.remove(JobLabels(kind: "a"))
    family[JobLabels(kind: "b")].set(3)
    #expect(names(after: 0) == [#"g{kind="b"} 3"#, #"g{otel_metric_overflow="true"} 2"#])
    for isThere in [true, false] {
      #expect(registry.removeSeries(of: "g", labels: ["otel_metric_overflow": "true"]) == isThere)
    }
    #expect(names(after: 0) == [#"g{kind="b"} 3"#])
    // What finds no room now has a new one.
    family[JobLabels(kind: "c")].increment()
    #expect(names(after: 0) == [#"g{kind="b"} 3"#, #"g{otel_metric_overflow="true"} 1"#])
    // Those that found none stay counted.
    #expect(registry.value(of: "session_tap_series_overflow_total", labels: ["metric": "g"]) == 2)
  }

  @Test func `a full family puts the rest into one series, and counts it`() throws {
    for (limit, own) in [(2, [#"a_total{kind="a"} 2"#, #"a_total{kind="b"} 1"#]), (0, []), (-1, [])] {
      let registry = Registry()
      let jobs = try registry.counter(
        "a_total", help: "", by: JobLabels.self, configuration: .init(limit: limit))
      for kind in ["a", "b", "c", "d", "a", "c"] { jobs[JobLabels(kind: kind)].increment() }
      #expect(jobs[JobLabels(kind: "e")] === jobs[JobLabels(kind: "f")])
      let overflow = #"a_total{otel_metric_overflow="true"} \#(own.isEmpty ? 6 : 3)"#
      #expect(registry.lines.filter { $0.hasPrefix("a_total") } == own + [overflow])
      let count = registry.value(of: "session_tap_series_overflow_total", labels: ["metric": "a_total"])
      #expect(own.isEmpty || count == 5)
    }
  }

  @Test func `what comes takes the memory of what has gone`() {
    var table = SeriesTable<Int, Int>([], SeriesConfiguration(limit: 10)) { 7 }
    let labels = { (number: Int) in RenderedLabels(Labels(["n": "\(number)"]).pairs) }
    let ids = (0..<1_000).map { number in
      _ = table.remove(labels(number - 3))
      return table.find(number, labels: labels(number))
    }
    #expect(Set(ids).count == 1_000 && ids.filter(table.contains) == ids.suffix(3))
    #expect(ids.allSatisfy { $0.place < 4 })
    // What knows those that are gone finds nothing of those in their places, and changes nothing.
    let (found, known) = ((0..<1_000).compactMap { table.find($0) }, ids.compactMap { table.known($0) })
    #expect(found == Array(ids.suffix(3)) && known == found)
    for id in ids { table.update(id) { $0 += 1 } }
    let (rows, texts) = (ids.compactMap { table[$0] }, ids.compactMap { table.labels(of: $0) })
    #expect(rows == [8, 8, 8] && texts == (997..<1_000).map(labels))
  }

  @Test func `the values of a key are read once, unless they are cut`() throws {
    let family = try registry.counter("a_total", help: "", by: ReadLabels.self)
    for kind in ["a", "b", String(repeating: "c", count: 300)] {
      for _ in 0..<2 { family[ReadLabels(kind: kind)].increment() }
    }
    #expect(ReadLabels.count.load(ordering: .relaxed) == 4)
    #expect(registry.value(of: "a_total") == 6)
  }

  @Test func `of the keys that share one series, no more are kept than there may be series`() {
    var table = SeriesTable<Int, Int>([], SeriesConfiguration(limit: 2)) { 0 }
    let labels = RenderedLabels([Labels.Pair]())
    let ids = (0..<4).map { table.find($0, labels: labels) }
    let isKept = (0..<4).map { table.find($0) != nil }
    #expect(Set(ids).count == 1)
    #expect(isKept == [true, true, false, false])
  }

  @Test func `what was removed does not come back by a record, nor by its expiry`() throws {
    let family = try registry.counter(
      "a_total", help: "", by: JobLabels.self, configuration: .init(idleExpiry: .seconds(10)))
    let kept = family[JobLabels(kind: "x")]
    kept.increment()
    #expect(names(after: 0).count == 1)
    #expect(names(after: 10).count == 1)
    family.remove(JobLabels(kind: "x"))
    kept.increment()
    for second in 11...30 { #expect(names(after: second) == []) }
  }

  @Test func `a series expires when it is idle and nothing holds its instrument`() throws {
    let family = try registry.counter(
      "a_total", help: "", by: JobLabels.self, configuration: .init(idleExpiry: .seconds(60)))
    var kept: Registry.Counter? = family[JobLabels(kind: "kept")]
    kept?.increment(by: 5)
    for kind in ["idle", "busy"] { family[JobLabels(kind: kind)].increment() }
    #expect(names(after: 0).count == 3)
    family[JobLabels(kind: "busy")].increment()
    #expect(names(after: 59).count == 3)
    #expect(names(after: 60) == [#"a_total{kind="busy"} 2"#, #"a_total{kind="kept"} 5"#])
    #expect(names(after: 1_000) == [#"a_total{kind="kept"} 5"#])
    #expect(family[JobLabels(kind: "kept")] === kept)
    // It starts from 0 again.
    family[JobLabels(kind: "idle")].increment()
    #expect(names(after: 1_001).first == #"a_total{kind="idle"} 1"#)

    // The last record before the release is shown, and once more nothing is lost.
    kept?.increment(by: 7)
    kept = nil
    #expect(names(after: 1_002).last == #"a_total{kind="kept"} 12"#)
    #expect(names(after: 1_061).last == #"a_total{kind="kept"} 12"#)
    #expect(names(after: 1_062) == [])
  }

  @Test(arguments: [Duration.zero, .seconds(-10)])
  func `without any time to stay, a series is shown once after its last record`(expiry: Duration) throws {
    let family = try registry.counter(
      "a_total", help: "", by: JobLabels.self, configuration: .init(idleExpiry: expiry))
    for second in [0, 2] {
      family[JobLabels(kind: "a")].increment()
      #expect(names(after: second) == [#"a_total{kind="a"} 1"#])
      #expect(names(after: second + 1) == [])
    }
  }

  @Test func `a look-up keeps a series from expiring, and so does a record of the value of before`() throws {
    for records in [false, true] {
      let family = try registry.gauge(
        "g", help: "", by: JobLabels.self, configuration: .init(idleExpiry: .seconds(10)))
      // The second has a value that is cut, whose key is not remembered.
      let keys = ["a", String(repeating: "b", count: 300)].map { JobLabels(kind: $0) }
      for key in keys { family[key].set(1) }
      let second = records ? 100 : 0
      var kept = records ? keys.map { family[$0] } : []
      _ = names(after: second)
      if records { for gauge in kept { gauge.set(1) } } else { for key in keys { _ = family[key] } }
      kept = []
      #expect([10, 19, 20].map { names(after: second + $0).count } == [2, 2, 0])
    }
  }

  @Test func `a gauge that is held leaves the overflow series alone`() throws {
    let configuration = SeriesConfiguration(limit: 1, idleExpiry: .seconds(10))
    let family = try registry.gauge("g", help: "", by: JobLabels.self, configuration: configuration)
    let kept = family[JobLabels(kind: "a")]
    kept.set(1)
    _ = names(after: 0)
    _ = names(after: 10)
    for (kind, value) in [("b", 2), ("c", 3)] { family[JobLabels(kind: kind)].set(value) }
    for second in 11...13 {
      kept.set(second)
      let overflow = #"g{otel_metric_overflow="true"} 3"#
      #expect(names(after: second) == [#"g{kind="a"} \#(second)"#, overflow])
      #expect(registry.value(of: "session_tap_series_overflow_total", labels: ["metric": "g"]) == 2)
    }
  }

  /// Whatever is held, released, expires and overflows: scrapes show each record, and none twice.
  @Test(arguments: 0..<Extent.of(2, extensive: 8))
  func `scrapes show every record`(seed: Int) throws {
    var generator = SeededGenerator(seed: seed)
    let configuration = SeriesConfiguration(limit: 3, idleExpiry: .seconds(2))
    let counters = try registry.counter("a_total", help: "", by: JobLabels.self, configuration: configuration)
    let histograms = try registry.histogram(
      "h", help: "", buckets: [1, 10], by: JobLabels.self, configuration: configuration)
    var kept: [(Registry.Counter, Registry.Histogram)] = []
    var records = 0.0
    var shown: [String: Double] = [:]
    /// What the series had that have begun again since.
    var past = ["a_total": 0.0, "h_count": 0.0]
    for step in 0..<200 {
      if kept.count < 4, Int.random(in: 0..<2, using: &generator) == 0 {
        let labels = JobLabels(kind: "\(Int.random(in: 0..<6, using: &generator))")
        kept.append((counters[labels], histograms[labels]))
      }
      for (counter, histogram) in kept where Int.random(in: 0..<5, using: &generator) == 0 {
        counter.increment()
        histogram.record(Double(1 << Int.random(in: 0..<8, using: &generator)))
        records += 1
      }
      kept.removeAll { _ in Int.random(in: 0..<4, using: &generator) == 0 }
      let now = names(after: step).filter { past.keys.contains(where: $0.hasPrefix) }.values
      for (sample, value) in shown where now[sample] ?? 0 < value {
        past[String(sample.prefix { $0 != "{" }), default: 0] += value
      }
      shown = now
      for (name, before) in past {
        let current = shown.filter { $0.key.hasPrefix(name) }.values.reduce(0, +)
        #expect(before + current == records, "\(name), step \(step)")
      }
    }
    #expect(past.values.allSatisfy { $0 > 0 })
  }

  /// A row of two metrics, as those of the requests are.
  private struct Row: SeriesRow {
    var values: [Double?] = [nil, nil]
    let activity: UInt64 = 0

    static func isHeld(_ row: inout Row) -> Bool { true }

    func content(of column: Int) -> GatheredFamily.Content? {
      values[column].map { GatheredFamily.Content.number($0) }
    }
  }

  @Test func `a metric leaves out the series in which it has nothing, and a change of all is one of each`()
    throws
  {
    let columns = try ["a", "b"].map {
      SeriesColumn(descriptor: try FamilyDescriptor(name: $0, help: "", type: .gauge, unit: nil))
    }
    var table = SeriesTable<Int, Row>(columns, SeriesConfiguration()) { Row() }
    let labels = { (number: Int) in RenderedLabels(Labels(["n": "\(number)"]).pairs) }
    for (number, values) in ([[nil, 1], [2, nil], [nil, nil], [3, 4]] as [[Double?]]).enumerated() {
      _ = table.find(number, labels: labels(number), new: Row(values: values))
    }
    func shown() -> [String: Double] {
      let text = Exposition(of: table.gather(at: .now), in: .text).text
      return text.split(separator: "\n").map(String.init).values
    }
    let before = shown()
    #expect(before == [#"a{n="1"}"#: 2, #"a{n="3"}"#: 3, #"b{n="0"}"#: 1, #"b{n="3"}"#: 4])
    // But for those that are gone.
    let isRemoved = table.remove(labels(1))
    table.updateAll { $0.values[1] = 7 }
    let after = shown()
    #expect(isRemoved && after == [#"a{n="3"}"#: 3, #"b{n="0"}"#: 7, #"b{n="2"}"#: 7, #"b{n="3"}"#: 7])
  }
}

/// Counts how often its value is read. One test uses it.
private struct ReadLabels: LabelSet {
  static let count = Atomic(0)
  static let labels = [
    Label<ReadLabels>("kind") { key -> String? in
      ReadLabels.count.wrappingAdd(1, ordering: .relaxed)
      return key.kind
    }
  ]

  var kind: String
}
