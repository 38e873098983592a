import SessionTap
import TestSupport

/// The table: the app's own metrics.
extension ExtremeTrial {
  /// A text as a name and as a part of it; then as all the rest.
  private static func register(
    _ function: String, _ name: String,
    _ register: @escaping @Sendable (Registry, _ name: String, _ rest: String) throws -> Void
  ) -> [Self] {
    use("Registry.\(function)") { run, text in
      for name in [text, "\(text)_total", "a_\(text)_total"] { try? register(run.registry, name, "") }
      try register(run.registry, name, text)
    }
  }

  /// Names, help texts, units and labels of metrics, and what is asked of a registry.
  @Table static var families: [Self] {
    let keyed = ExtremeLabels.self
    let reserved: NamedValues<[String: String]> = ["le", "__x", "quantile", "otel_metric_overflow"].map {
      ("a key: \($0)", [$0: "value"])
    }
    let manyFormats = [("many formats", String(repeating: "a;q=0,", count: manyElements))]
    use("Labels.init(_:)", at: [String: String].extremes + reserved) { run, dictionary in
      let labels = Labels(dictionary)
      try? run.registry.counter("jobs_total", help: "Jobs.", labels: labels).increment()
      // A histogram has a line for each bucket.
      if dictionary.count == manyElements { return }
      try? run.registry.histogram("job_seconds", help: "Jobs.", labels: labels).record(1)
      try run.registry.gauge("jobs", help: "Jobs.", labels: labels).set(1)
    }
    register("counter(_:help:unit:labels:", "a_total") {
      try $0.counter($1, help: $2, labels: ["k": $2]).increment()
    }
    register("counter(_:help:unit:labels:", "jobs_total") {
      try $0.counter($1, help: "", unit: $2 == "" ? nil : $2).increment()
    }
    register("counter(legacyName", "a") {
      try $0.counter(legacyName: $1, help: $2, labels: ["k": $2]).increment()
    }
    register("counter(_:help:unit:labels:value:)", "jobs_total") {
      try $0.counter($1, help: $2, labels: ["kind": $2]) { .nan }
    }
    register("counter(_:help:unit:by:", "jobs_total") {
      try $0.counter($1, help: $2, by: keyed)[ExtremeLabels(value: $2)].increment()
    }
    register("gauge(_:help:unit:labels:", "jobs") {
      try $0.gauge($1, help: "", unit: $2 == "" ? nil : $2, labels: ["kind": $2]).set(1)
    }
    register("gauge(_:help:unit:labels:value:)", "jobs") {
      try $0.gauge($1, help: $2, labels: ["kind": $2]) { .infinity }
    }
    register("gauge(_:help:unit:by:", "jobs") {
      try $0.gauge($1, help: $2, by: keyed)[ExtremeLabels(value: $2)].set(1)
    }
    register("histogram(_:help:unit:buckets:labels:", "job_seconds") {
      try $0.histogram($1, help: $2, labels: ["kind": $2]).record(1)
    }
    register("histogram(_:help:unit:buckets:by:", "job_seconds") {
      try $0.histogram($1, help: $2, by: keyed)[ExtremeLabels(value: $2)].record(1)
    }
    use("Label.init") { run, name in
      try ExtremeLabels.$name.withValue(name) {
        try run.registry.counter("a_total", help: "", by: keyed)[ExtremeLabels(value: name)].increment()
      }
    }
    use("Registry.exposition(accept:)", at: String.extremes + manyFormats) {
      _ = $0.tap.registry.exposition(accept: $1)
    }
    use("Registry.exposition(in:") { _ = $0.tap.registry.exposition(in: .openMetrics, names: $1) }
    use("Registry.value") { (run, text: String) in
      try run.registry.counter("values_total", help: "", labels: ["kind": text]).increment()
      _ = run.registry.value(of: "values_total", labels: ["kind": text])
      _ = run.registry.value(of: text, labels: [text: text])
    }
    use("Registry.removeSeries") { (run, text: String) in
      try run.registry.counter("jobs_total", help: "Jobs.", labels: ["kind": text]).increment()
      run.registry.removeSeries(of: text, labels: Labels([text: text]))
      run.registry.removeSeries(of: "jobs_total", labels: ["kind": text])
    }
  }

  /// What instruments record.
  @Table static var instruments: [Self] {
    let (gauge, histogram) = ("Registry.Gauge", "Registry.Histogram")
    use("Registry.Counter.increment") {
      try $0.registry.counter("a_total", help: "").increment(by: $1 as Double)
    }
    use("Registry.Counter.increment") {
      try $0.registry.counter("a_total", help: "").increment(by: $1 as Int)
    }
    use("\(gauge).set") { try $0.registry.gauge("jobs", help: "").set($1 as Double) }
    use("\(gauge).set") { try $0.registry.gauge("jobs", help: "").set($1 as Int) }
    use("\(gauge).increment") { try $0.registry.gauge("jobs", help: "").increment(by: $1) }
    use("\(gauge).decrement") { try $0.registry.gauge("jobs", help: "").decrement(by: $1) }
    use("\(histogram).record(_:)") { try $0.registry.histogram("h", help: "").record($1 as Double) }
    use("\(histogram).record(_:)") { try $0.registry.histogram("h", help: "").record($1 as Duration) }
    use("\(histogram).record(_:trace:at:)") {
      try $0.registry.histogram("h", help: "").record($1, trace: .random(isSampled: true))
    }
    use("Timestamp.nanosecondsSinceEpoch") { run, nanoseconds in
      try run.registry.histogram("h", help: "")
        .record(1, trace: .random(isSampled: true), at: Timestamp(nanosecondsSinceEpoch: nanoseconds))
    }
    // A quantile is finite or none, whatever was recorded.
    use("\(histogram).quantile") { run, share in
      for value in Double.extremes {
        let histogram = try Registry().histogram("h", help: "", buckets: [1])
        for value in [value.value, 1] { histogram.record(value) }
        let found = histogram.quantile(share)
        try run.expect(found?.isFinite ?? true, "of \(value.name) and 1 it is \(found ?? 0)")
      }
    }
  }

  private struct OneFamily: Collector {
    let family: MetricFamily
    func collect() -> [MetricFamily] { [family] }
  }

  /// Families that a collector of the app's makes at each scrape, and values that are read then.
  @Table static var collected: [Self] {
    let samples: NamedValues<[MetricFamily.Sample]> = [
      ("no element", []), ("many", (0..<2_000).map { .init(labels: ["job": "\($0)"], value: 1) }),
      ("many equal", Array(repeating: .init(value: 1), count: 2_000)),
    ]
    collect(at: String.extremes) { $0.name = $1 }
    collect(at: String.extremes) { $0.help = $1 }
    collect(at: String?.extremes) { $0.unit = $1 }
    collect("MetricFamily.Sample.init", at: Double.extremes) { $0.samples[0].value = $1 }
    collect(at: [String: String].extremes) { $0.samples[0].labels = Labels($1) }
    collect(at: samples) { $0.samples = $1 }
    use("Registry.gauge(_:help:unit:labels:value:)", at: Double.extremes) { run, value in
      try run.registry.counter("jobs_total", help: "") { value }
      try run.registry.gauge("jobs", help: "") { value }
    }
  }

  private static func collect<Value: Sendable>(
    _ setting: String = "MetricFamily.init", at values: NamedValues<Value>,
    _ change: @escaping @Sendable (inout MetricFamily, Value) -> Void
  ) -> [Self] {
    use(setting, at: values) { run, value in
      for kind in [MetricFamily.Kind.counter, .gauge, .info] {
        let suffix = [.counter: "_total", .info: "_info"][kind] ?? ""
        var family = MetricFamily(
          name: "collected_\(kind)\(suffix)", help: "Jobs.", kind: kind, samples: [.init(value: 1)])
        change(&family, value)
        try run.registry.register(OneFamily(family: family))
      }
    }
  }
}
