import TestSupport

@testable import TapCore

struct SeriesLifetimeTests {
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
    family.removeAll()
    #expect(names(after: 0) == [])
    #expect(family[JobLabels(kind: "x")] !== kept)
  }

  @Test func `series with run time labels are removed by name`() throws {
    try registry.gauge("g", help: "", labels: ["a": "1"]).set(1)
    try registry.gauge("g", help: "", labels: ["a": "2"]).set(2)
    try registry.gauge("c", help: "") { 3 }
    #expect(registry.removeSeries(of: "g", labels: ["a": "1"]))
    #expect(!registry.removeSeries(of: "g", labels: ["a": "1"]))
    #expect(!registry.removeSeries(of: "none", labels: .none))
    #expect(names(after: 0) == ["c 3", #"g{a="2"} 2"#])
    registry.removeAllSeries(of: "c")
    registry.removeAllSeries(of: "g")
    #expect(names(after: 0) == [])
  }

  @Test func `room is free again after a removal`() throws {
    let family = try registry.gauge("g", help: "", by: JobLabels.self, configuration: .init(limit: 1))
    family[JobLabels(kind: "a")].set(1)
    family[JobLabels(kind: "b")].set(2)
    #expect(names(after: 0) == [#"g{kind="a"} 1"#, #"g{otel_metric_overflow="true"} 2"#])
    family.remove(JobLabels(kind: "a"))
    family[JobLabels(kind: "b")].set(3)
    #expect(names(after: 0) == [#"g{kind="b"} 3"#, #"g{otel_metric_overflow="true"} 2"#])
  }

  @Test func `idle series expire and come back with all they had`() throws {
    let family = try registry.counter(
      "a_total", help: "", by: JobLabels.self, configuration: .init(idleExpiry: .seconds(60)))
    let kept = family[JobLabels(kind: "kept")]
    kept.increment(by: 5)
    family[JobLabels(kind: "lost")].increment()
    let busy = family[JobLabels(kind: "busy")]
    busy.increment()
    #expect(names(after: 0).count == 3)
    busy.increment()
    #expect(names(after: 59).count == 3)
    #expect(names(after: 60) == [#"a_total{kind="busy"} 2"#])

    kept.increment()
    #expect(names(after: 61) == [#"a_total{kind="busy"} 2"#, #"a_total{kind="kept"} 6"#])
    #expect(family[JobLabels(kind: "kept")] === kept)
    // Nothing kept this one: it starts from 0 again.
    family[JobLabels(kind: "lost")].increment()
    #expect(names(after: 62).last == #"a_total{kind="lost"} 1"#)
  }

  @Test func `an expired series that is asked for is the same`() throws {
    let family = try registry.gauge(
      "g", help: "", by: JobLabels.self, configuration: .init(idleExpiry: .seconds(1)))
    let kept = family[JobLabels(kind: "a")]
    kept.set(1)
    _ = names(after: 0)
    #expect(names(after: 5) == [])
    #expect(family[JobLabels(kind: "a")] === kept)
    #expect(names(after: 6) == [#"g{kind="a"} 1"#])
  }

  @Test func `an expired series that finds no room counts in the overflow series`() throws {
    let configuration = SeriesConfiguration(limit: 2, idleExpiry: .seconds(10))
    let family = try registry.counter("a_total", help: "", by: JobLabels.self, configuration: configuration)
    let kept = family[JobLabels(kind: "a")]
    kept.increment(by: 3)
    _ = names(after: 0)
    #expect(names(after: 10) == [])
    for (kind, amount) in [("b", 5), ("c", 3)] { family[JobLabels(kind: kind)].increment(by: amount) }
    kept.increment(by: 20)
    let others = [#"a_total{kind="b"} 5"#, #"a_total{kind="c"} 3"#]
    #expect(names(after: 11) == others + [#"a_total{otel_metric_overflow="true"} 20"#])
    #expect(registry.value(of: "session_tap_series_overflow_total", labels: ["metric": "a_total"]) == 1)
    kept.increment(by: 4)
    #expect(names(after: 12) == others + [#"a_total{otel_metric_overflow="true"} 24"#])
    // Its own value is what it had at its expiry: with room it returns with that.
    family.remove(JobLabels(kind: "b"))
    kept.increment()
    #expect(
      names(after: 13) == [#"a_total{kind="a"} 4"#, others[1], #"a_total{otel_metric_overflow="true"} 24"#])
  }

  /// Whatever expires, returns and overflows: no record is lost, and none counts twice.
  @Test(arguments: 0..<8)
  func `all series together have every record`(seed: Int) throws {
    var generator = SeededGenerator(seed: seed)
    let configuration = SeriesConfiguration(limit: 3, idleExpiry: .seconds(2))
    let counters = try registry.counter("a_total", help: "", by: JobLabels.self, configuration: configuration)
    let histograms = try registry.histogram(
      "h", help: "", buckets: [1, 10], by: JobLabels.self, configuration: configuration)
    var kept: [(Registry.Counter, Registry.Histogram)] = []
    var records = 0
    for step in 0..<80 {
      if kept.count < 12, Int.random(in: 0..<4, using: &generator) == 0 {
        let labels = JobLabels(kind: "\(step)")
        kept.append((counters[labels], histograms[labels]))
      }
      for (counter, histogram) in kept where Int.random(in: 0..<5, using: &generator) == 0 {
        counter.increment()
        histogram.record(Double(1 << Int.random(in: 0..<8, using: &generator)))
        records += 1
      }
      _ = names(after: step)
    }
    // With the family full of new ones, the next label set has the overflow series.
    for kind in ["x", "y", "z", "overflow"] {
      kept.append((counters[JobLabels(kind: kind)], histograms[JobLabels(kind: kind)]))
    }
    let values = Dictionary(kept.map { (ObjectIdentifier($0.0), $0.0.value) }) { first, _ in first }.values
    #expect(values.reduce(0, +) == Double(records))
    let snapshots = Dictionary(kept.map { (ObjectIdentifier($0.1), $0.1.snapshot) }) { first, _ in first }
      .values
    #expect(snapshots.reduce(0) { $0 + $1.count } == UInt64(records))
    let native = snapshots.flatMap(\.native.positive.entries)
    #expect(native.reduce(0) { $0 + $1.count } == UInt64(records))
    let last = kept.last?.0.value ?? 0
    #expect(names(after: 80).contains { $0 == #"a_total{otel_metric_overflow="true"} \#(Int(last))"# })
  }

  @Test func `idle request targets expire and the books still balance`() throws {
    let metrics = try RequestDriver(registry: registry) { $0.series.idleExpiry = .seconds(10) }
    let over = RequestDescription(client: "c", method: "GET", serverAddress: "over")
    let active = RequestDescription(client: "c", method: "GET", serverAddress: "active")
    metrics.record(over)
    metrics.requestStarted(active)
    #expect(registry.samples(0, after: start).count { $0.hasPrefix("http_client_active_requests{") } == 2)
    let later = registry.samples(10, after: start)
    #expect(
      later.filter { $0.hasPrefix("http_client") } == [
        #"http_client_active_requests{client="c",http_request_method="GET",server_address="active"} 1"#,
        #"http_client_redirects_total{client="c",http_request_method="GET",server_address="active"} 0"#,
      ])
    #expect(later.contains(#"session_tap_started_requests_total{client="c"} 2"#))
    #expect(later.contains(#"session_tap_ended_requests_total{client="c"} 1"#))
  }
}
