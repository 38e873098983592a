import TestSupport

@testable import TapCore

struct SeriesTableTests {
  private let registry = Registry()
  private let start = Instant.now

  private func names(after seconds: Int) -> [String] {
    registry.samples(seconds, after: start).filter { !$0.hasPrefix("session_tap") }
  }

  /// A family of counters, and what is held of them.
  private struct Life {
    private let registry = Registry()
    private let start = Instant.now
    private let family: Family<JobLabels, Registry.Counter>
    private var held: [String: Registry.Counter] = [:]

    init(limit: Int, idleExpiry: Duration?) throws {
      let configuration = SeriesConfiguration(limit: limit, idleExpiry: idleExpiry)
      family = try registry.counter("a_total", help: "", by: JobLabels.self, configuration: configuration)
    }

    /// `a` counts in the series of that kind, `+a` takes its counter and `~a` lets that go; `a*` counts by
    /// it. `-a` removes the series, and tells whether there was one. `9s` is a scrape at that time:
    /// `[a2 b1 …3]` is what the series have, `…` the overflow. `!` tells how many look-ups found no room.
    mutating func step(_ step: Substring) -> String? {
      let kind = String(step.filter { !"+~*-".contains($0) })
      switch (step.first, step.last) {
      case ("!", _):
        let count = registry.value(of: "session_tap_series_overflow_total", labels: ["metric": "a_total"])
        return count.map { "\(Int($0))" }
      case ("+", _): held[kind] = family[JobLabels(kind: kind)]
      case ("~", _): held[kind] = nil
      case (_, "*"): held[kind]?.increment()
      case ("-", "…"):
        return registry.removeSeries(of: "a_total", labels: ["otel_metric_overflow": "true"]) ? "yes" : "no"
      case ("-", _): return family.remove(JobLabels(kind: kind)) ? "yes" : "no"
      case (_, "s"):
        let text = registry.samples(Int(step.dropLast()) ?? 0, after: start).joined(separator: "\n")
        let series = text.matches(of: /a_total{\w+="(\w+)"} (\d+)/).map {
          "\($0.1 == "true" ? "…" : $0.1)\($0.2)"
        }
        return "[\(series.joined(separator: " "))]"
      default: family[JobLabels(kind: kind)].increment()
      }
      return nil
    }
  }

  @Test func `a series lives until it is removed, or idle and not held; what finds no room shares one`()
    throws
  {
    let rows: [(limit: Int, expiry: Int?, steps: String, told: String)] = [
      // What is removed is gone, also for who holds it, and its room is free again.
      (9, nil, "+x x* y -x -x x* 0s x 0s x* 0s", "yes no [y1] [x1 y1] [x1 y1]"),
      (1, nil, "a b 0s -a b 0s -… -… 0s c 0s !", "[a1 …1] yes [b1 …1] yes no [b1] [b1 …1] 2"),
      (9, 10, "+x x* 0s 10s -x x* 11s 15s 21s 30s", "[x1] [x1] yes [] [] [] []"),
      // What has no room.
      (2, nil, "a b c d a c 0s !", "[a2 b1 …3] 3"), (0, nil, "a b a 0s", "[…3]"),
      (-1, nil, "a b a 0s", "[…3]"),
      (1, 10, "+a a* 0s 10s b c a* 11s a* 12s a* 33s !", "[a1] [a1] [a2 …2] [a3 …2] [a4 …2] 2"),
      // What is idle. The last record before the release is shown, and later it begins anew.
      (9, 60, "+k k* i b 0s b 59s 60s 999s i 1000s", "[b1 i1 k1] [b2 i1 k1] [b2 k1] [k1] [i1 k1]"),
      (9, 60, "+k k* 0s 1000s k* ~k 1001s 1060s 1061s k 1062s", "[k1] [k1] [k2] [k2] [] [k1]"),
      // Without any time to stay it is shown once.
      (9, 0, "a 0s 1s a 2s 3s", "[a1] [] [a1] []"), (9, -10, "a 0s 1s a 2s 3s", "[a1] [] [a1] []"),
    ]
    let told = try rows.map { row in
      var life = try Life(limit: row.limit, idleExpiry: row.expiry.map { .seconds($0) })
      return row.steps.split(separator: " ").compactMap { life.step($0) }.joined(separator: " ")
    }
    #expect(told == rows.map(\.told))
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
