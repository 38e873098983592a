import CoreMetrics
import SessionTap
import TapMetrics
import TapTesting
import Testing

@Suite struct MetricsFactoryTests {
  private let registry = Registry()
  private let factory: TapMetricsFactory

  init() { factory = TapMetricsFactory(registry: registry) }

  /// The sample lines of what a scrape gets.
  private var samples: [Substring] {
    String(decoding: registry.exposition(in: .text).body, as: UTF8.self)
      .split(separator: "\n").filter { !$0.hasPrefix("#") }
  }

  /// The lines are among what a scrape gets.
  private func expectSamples(_ lines: Substring..., location: SourceLocation = #_sourceLocation) {
    #expect(lines.filter { !samples.contains($0) } == [], sourceLocation: location)
  }

  @Test func `counters count whole amounts and fractions, never back`() {
    let counter = Counter(label: "jobs.done", factory: factory)
    counter.increment()
    counter.increment(by: 41)
    counter.increment(by: -7)
    let busy = FloatingPointCounter(label: "busy.seconds", factory: factory)
    for amount in [0.25, 0.5, -1, .nan, .infinity] { busy.increment(by: amount) }
    expectSamples(
      "jobs_done_total 42", "busy_seconds_total 0.75",
      #"session_tap_dropped_values_total{metric="busy_seconds_total"} 3"#)
    // Both of one name are one series.
    FloatingPointCounter(label: "jobs.done", factory: factory).increment(by: 0.5)
    expectSamples("jobs_done_total 42.5")
    #expect(samples.count { $0.hasPrefix("jobs_done") } == 1)
  }

  @Test func `meters, gauges and recorders that do not aggregate set a gauge`() {
    let meter = Meter(label: "pool.size", factory: factory)
    meter.set(7)
    meter.increment(by: 2.5)
    meter.decrement(by: 1)
    Gauge(label: "depth", factory: factory).record(3)
    let recorder = Recorder(label: "last", aggregate: false, factory: factory)
    recorder.record(1)
    recorder.record(-2.5)
    #expect(samples == ["depth 3", "last -2.5", "pool_size 8.5"])
  }

  @Test func `recorders that aggregate are histograms`() {
    let recorder = Recorder(label: "batch.bytes", factory: factory)
    recorder.record(3)
    recorder.record(70.5)
    expectSamples(
      #"batch_bytes_bucket{le="4.0"} 1"#, #"batch_bytes_bucket{le="256.0"} 2"#, "batch_bytes_sum 73.5",
      "batch_bytes_count 2")
  }

  @Test func `timers are histograms of seconds, whatever unit they are given or prefer`() {
    let timer = CoreMetrics.Timer(label: "db.query", preferredDisplayUnit: .milliseconds, factory: factory)
    timer.recordNanoseconds(4_000_000)
    timer.recordMilliseconds(40)
    timer.recordSeconds(2)
    timer.recordSeconds(UInt64.max)
    expectSamples(
      #"db_query_seconds_bucket{le="0.005"} 1"#, #"db_query_seconds_bucket{le="0.05"} 2"#,
      #"db_query_seconds_bucket{le="2.5"} 3"#, "db_query_seconds_count 4")
  }

  @Test(arguments: [
    ("jobs", "jobs_total"), ("jobs_total", "jobs_total"),
    ("http.server.requests", "http_server_requests_total"), ("a-b c/d", "a_b_c_d_total"),
    ("a..b__c", "a_b_c_total"), ("größe", "gr_e_total"), ("9lives", "_9lives_total"), ("", "__total"),
    ("💥", "__total"), ("le", "le_total"), ("Jobs", "Jobs_total"),
  ])
  func `names become names of Prometheus`(label: String, name: String) {
    Counter(label: label, factory: factory).increment()
    #expect(samples == ["\(name) 1"])
  }

  @Test(arguments: [
    ([("http.route", "/a"), ("code", "200")], #"code="200",http_route="/a""#),
    ([("le", "1"), ("quantile", "2"), ("__name__", "x")], #"_le="1",_name_="x",_quantile="2""#),
    ([("otel_metric_overflow", "true")], #"_otel_metric_overflow="true""#),
    ([("a.b", "1"), ("a-b", "2")], #"a_b="1;2""#), ([("k", "a\"b\\c\nd")], #"k="a\"b\\c\nd""#),
    ([("", "v")], #"_="v""#),
  ])
  func `dimensions become labels`(dimensions: [(String, String)], labels: String) {
    Meter(label: "m", dimensions: dimensions, factory: factory).set(1)
    #expect(samples == ["m{\(labels)} 1"])
  }

  @Test func `the same name may have other dimensions, and in another order is the same series`() {
    for dimensions in [[], [("a", "1")], [("b", "2")], [("a", "1"), ("b", "2")], [("b", "2"), ("a", "1")]] {
      Counter(label: "n", dimensions: dimensions, factory: factory).increment()
    }
    #expect(
      samples == [#"n_total 1"#, #"n_total{a="1"} 1"#, #"n_total{a="1",b="2"} 2"#, #"n_total{b="2"} 1"#])
  }

  /// SMT-0001 and SMT-0002 of swift-metrics.
  @Test func `a factory of a task's, or one behind a mapping, has the same series`() {
    let mapped = factory.withLabelAndDimensionsMapping { ("shop.\($0)", $1 + [("env", "test")]) }
    for factory in [factory, mapped] as [any MetricsFactory] {
      withMetricsFactory(factory) {
        for _ in 0..<2 { Counter(label: "n").increment() }
        Counter(label: "gone").destroy()
      }
    }
    #expect(samples == ["n_total 2", #"shop_n_total{env="test"} 2"#])
  }

  @Test func `what has the name of another type records nothing, and is counted`() throws {
    Meter(label: "x", factory: factory).set(1)
    let recorder = Recorder(label: "x", factory: factory)
    recorder.record(5)
    recorder.destroy()
    Counter(label: "x", factory: factory).increment()
    _ = try registry.histogram("mine_seconds", help: "The app's own.")
    CoreMetrics.Timer(label: "mine", factory: factory).recordSeconds(1)
    expectSamples(
      "x 1", "mine_seconds_count 0", #"swift_metrics_refused_total{metric="x"} 1"#,
      #"swift_metrics_refused_total{metric="x_total"} 1"#,
      #"swift_metrics_refused_total{metric="mine_seconds"} 1"#)
  }

  @Test func `names may stay as swift-prometheus has them`() {
    let factory = TapMetricsFactory(registry: registry, names: .asGiven)
    for label in ["jobs.done", "a:b", "a..b", "9lives", "größe", ""] {
      Counter(label: label, dimensions: [("http.route", "/a")], factory: factory).increment(by: 2)
    }
    CoreMetrics.Timer(label: "db.query", preferredDisplayUnit: .milliseconds, factory: factory).recordSeconds(
      1)
    Recorder(label: "batch.bytes", factory: factory).record(3)
    Meter(label: "pool.size", factory: factory).set(4)
    for name in ["jobs_done", "a:b", "a__b", "_lives", "gr__e", "_"] {
      expectSamples(#"\#(name){http_route="/a"} 2"#)
    }
    expectSamples("db_query_sum 1", "batch_bytes_sum 3", "pool_size 4")
    #expect(!samples.contains { $0.contains("_total") || $0.contains("_seconds") })
  }

  @Test func `the log says once of each name why it records nothing`() throws {
    let tap = try Tap.testing()
    let factory = TapMetricsFactory(tap)
    Meter(label: "x", factory: factory).set(1)
    for _ in 0..<3 { Recorder(label: "x", factory: factory).record(1) }
    Counter(label: "x", dimensions: [("a", "b")], factory: factory).increment()
    let log = try #require(tap.requestLog)
    #expect(log.flush(within: .seconds(30)))
    let lines = String(decoding: log.recent(), as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 2)
    let reason = "metric 'x': already registered with another type; choose another name"
    #expect(lines[0].contains("an instrument of swift-metrics records nothing: \(reason)"))
    #expect(lines[0].contains(#""severity":"WARN""#) && lines[0].contains(#""metric":"x""#))
    #expect(lines[1].contains(#""metric":"x_total""#))
    #expect(tap.registry.value(of: "swift_metrics_refused_total") == 4)
  }

  @Test func `a destroyed metric goes, and comes back from nothing`() {
    let counter = Counter(label: "c", dimensions: [("a", "1")], factory: factory)
    counter.increment(by: 5)
    counter.destroy()
    FloatingPointCounter(label: "f", factory: factory).destroy()
    Meter(label: "m", factory: factory).destroy()
    Recorder(label: "r", factory: factory).destroy()
    CoreMetrics.Timer(label: "t", factory: factory).destroy()
    #expect(samples.isEmpty)
    counter.increment()
    Counter(label: "c", dimensions: [("a", "1")], factory: factory).increment()
    counter.destroy()
    #expect(samples == [#"c_total{a="1"} 1"#])
  }

  @Test func `a series stays until the last that was made of it is destroyed`() {
    let connections = (1...3).map { _ in Meter(label: "open", factory: factory) }
    for meter in connections { meter.increment(by: 1) }
    connections[0].destroy()
    connections[1].destroy()
    connections[2].increment(by: 1)
    #expect(samples == ["open 4"])
    connections[2].destroy()
    #expect(samples.isEmpty)
  }

  @Test func `a reset counter begins again at 0, for all that share it`() {
    let counters = (1...2).map { _ in Counter(label: "c", factory: factory) }
    counters[0].increment(by: 5)
    counters[1].reset()
    #expect(samples == ["c_total 0"])
    counters[0].increment()
    #expect(samples == ["c_total 1"])
  }

  @Test func `whatever a library asks for stays bounded`() {
    for number in 0..<2_100 {
      Counter(label: "one", dimensions: [("n", "\(number)")], factory: factory).increment()
    }
    for number in 0..<10_000 { Meter(label: "many.\(number)", factory: factory).set(1) }
    Meter(label: String(repeating: "n", count: 100_000), dimensions: [], factory: factory).set(1)
    expectSamples(
      #"one_total{otel_metric_overflow="true"} 100"#,
      #"session_tap_series_overflow_total{metric="one_total"} 100"#)
    #expect(samples.count { $0.hasPrefix("many_") } == 10_000 - 2_100)
    #expect(samples.contains { $0.hasPrefix("swift_metrics_refused_total") })
    #expect(samples.allSatisfy { $0.utf8.count < 700 })
  }

  @Test func `many tasks make, use, reset and destroy the same metrics at once`() async {
    let kept = Counter(label: "kept", factory: factory)
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask { [factory] in
          for round in 0..<500 {
            Counter(label: "shared", factory: factory).increment()
            CoreMetrics.Timer(label: "time", factory: factory).recordNanoseconds(round)
            let brief = Meter(label: "brief", dimensions: [("n", "\(round % 7)")], factory: factory)
            brief.set(task)
            brief.destroy()
            kept.increment()
            FloatingPointCounter(label: "reset", factory: factory).reset()
          }
        }
      }
    }
    expectSamples("shared_total 4000", "kept_total 4000", "time_seconds_count 4000", "reset_total 0")
    #expect(!samples.contains { $0.hasPrefix("brief") })
  }
}
