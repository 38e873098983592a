import SessionTap
import TestSupport

/// The app's own metrics.
extension ExtremeGroup {
  private struct OneFamily: Collector {
    let family: MetricFamily
    func collect() -> [MetricFamily] { [family] }
  }

  static var familyExtremes: [Extreme] {
    registrations + instruments + collected + readings
      + Extreme.eachWhileRunning("Label.init(_:_:)", Extremes.strings) { running, name in
        try ExtremeLabels.$name.withValue(name) {
          try running.tap.registry.counter("jobs_total", help: "Jobs.", by: ExtremeLabels.self)[
            ExtremeLabels(value: name)
          ].increment()
        }
      }
  }

  /// Names, help texts, units and labels of metrics.
  private static var registrations: [Extreme] {
    typealias Register = @Sendable (Registry, _ text: String) throws -> Void
    func each(_ function: String, _ names: @escaping Register, _ others: @escaping Register) -> [Extreme] {
      Extreme.eachWhileRunning("Registry.\(function)", Extremes.strings) { try names($0.tap.registry, $1) }
        + Extreme.eachWhileRunning("Registry.\(function)", Extremes.strings) {
          try others($0.tap.registry, $1)
        }
    }
    let keyed = ExtremeLabels.self
    let labels = ["Labels.init(_:)": Extremes.texts].flatMap { setting, values in
      Extreme.eachWhileRunning(setting, values) { running, dictionary in
        try running.tap.registry.counter("jobs_total", help: "Jobs.", labels: Labels(dictionary)).increment()
      }
    }
    return labels
      + each(
        "counter(_:help:unit:labels:)", { _ = try $0.counter($1, help: "Jobs.") },
        {
          try $0.counter("jobs_total", help: $1, unit: $1.isEmpty ? $1 : nil, labels: ["kind": $1])
            .increment()
        })
      + each(
        "counter(_:help:unit:labels:value:)", { try $0.counter($1, help: "Jobs.") { 1 } },
        { try $0.counter("jobs_total", help: $1, labels: ["kind": $1]) { .nan } })
      + each(
        "counter(_:help:unit:by:options:)", { _ = try $0.counter($1, help: "Jobs.", by: keyed) },
        { try $0.counter("jobs_total", help: $1, by: keyed)[ExtremeLabels(value: $1)].increment() })
      + each(
        "gauge(_:help:unit:labels:)", { _ = try $0.gauge($1, help: "Jobs.") },
        { try $0.gauge("jobs", help: "Jobs.", unit: $1, labels: ["kind": $1]).set(1) })
      + each(
        "gauge(_:help:unit:labels:value:)", { try $0.gauge($1, help: "Jobs.") { 1 } },
        { try $0.gauge("jobs", help: $1, labels: ["kind": $1]) { .infinity } })
      + each(
        "gauge(_:help:unit:by:options:)", { _ = try $0.gauge($1, help: "Jobs.", by: keyed) },
        { try $0.gauge("jobs", help: $1, by: keyed)[ExtremeLabels(value: $1)].set(1) })
      + each(
        "histogram(_:help:unit:buckets:labels:)", { _ = try $0.histogram($1, help: "Jobs.") },
        { try $0.histogram("job_seconds", help: $1, labels: ["kind": $1]).record(1) })
      + each(
        "histogram(_:help:unit:buckets:by:options:)", { _ = try $0.histogram($1, help: "Jobs.", by: keyed) },
        { try $0.histogram("job_seconds", help: $1, by: keyed)[ExtremeLabels(value: $1)].record(1) })
  }

  /// What instruments record.
  private static var instruments: [Extreme] {
    func each<Value: Sendable>(
      _ setting: String, _ values: Extremes.Values<Value>,
      _ use: @escaping @Sendable (Registry, Value) throws -> Void
    ) -> [Extreme] {
      Extreme.eachWhileRunning(setting, values) { try use($0.tap.registry, $1) }
    }
    return each("Registry.Counter.increment(by:)", Extremes.doubles) {
      try $0.counter("jobs_total", help: "Jobs.").increment(by: $1)
    }
      + each("Registry.Counter.increment(by:)", Extremes.integers) {
        let counter = try $0.counter("jobs_total", help: "Jobs.")
        counter.increment(by: $1)
        counter.increment(by: $1)
      }
      + each("Registry.Gauge.set(_:)", Extremes.doubles) { try $0.gauge("jobs", help: "Jobs.").set($1) }
      + each("Registry.Gauge.set(_:)", Extremes.integers) { try $0.gauge("jobs", help: "Jobs.").set($1) }
      + each("Registry.Gauge.increment(by:)", Extremes.doubles) {
        try $0.gauge("jobs", help: "Jobs.").increment(by: $1)
      }
      + each("Registry.Gauge.decrement(by:)", Extremes.doubles) {
        try $0.gauge("jobs", help: "Jobs.").decrement(by: $1)
      }
      + each("Registry.Histogram.record(_:)", Extremes.doubles) {
        try $0.histogram("job_seconds", help: "Jobs.").record($1)
      }
      + each("Registry.Histogram.record(_:)", Extremes.durations) {
        try $0.histogram("job_seconds", help: "Jobs.").record($1)
      }
      + each("Registry.Histogram.record(_:trace:at:)", Extremes.doubles) {
        try $0.histogram("job_seconds", help: "Jobs.").record($1, trace: .random())
      }
      + each("Timestamp.nanosecondsSinceEpoch", Extremes.integers) {
        let histogram = try $0.histogram("job_seconds", help: "Jobs.")
        let time = Timestamp(nanosecondsSinceEpoch: Int64($1))
        histogram.record(1, trace: .random(), at: time)
        for format in ExpositionFormat.allCases { _ = $0.exposition(in: format) }
      }
      + each("Registry.Histogram.quantile(_:)", Extremes.doubles) {
        let histogram = try $0.histogram("job_seconds", help: "Jobs.")
        histogram.record($1)
        _ = histogram.quantile($1)
      }
      + each("NativeHistogram.quantile(_:)", Extremes.doubles) {
        let histogram = try $0.histogram("job_seconds", help: "Jobs.")
        histogram.record(1)
        histogram.record($1)
        _ = histogram.snapshot.native.quantile($1)
      }
  }

  /// Families that a collector of the app's makes at each scrape.
  private static var collected: [Extreme] {
    func each<Value: Sendable>(
      _ property: String, kinds: [MetricFamily.Kind] = [.gauge], _ values: Extremes.Values<Value>,
      _ change: @escaping @Sendable (inout MetricFamily, Value) -> Void
    ) -> [Extreme] {
      kinds.flatMap { kind in
        Extreme.eachWhileRunning("MetricFamily.\(property)", values.map { ("\(kind): \($0.name)", $0.value) })
        {
          let names: [MetricFamily.Kind: String] = [.counter: "jobs_total", .info: "jobs_info"]
          var family = MetricFamily(
            name: names[kind] ?? "jobs", help: "Jobs.", kind: kind, samples: [.init(value: 1)])
          change(&family, $1)
          try $0.tap.registry.register(OneFamily(family: family))
        }
      }
    }
    let many = (0..<100_000).map { MetricFamily.Sample(labels: ["job": "\($0)"], value: 1) }
    let same = [MetricFamily.Sample](repeating: .init(value: 1), count: 100_000)
    let all = MetricFamily.Kind.allCases
    return each("name", kinds: all, Extremes.strings) { $0.name = $1 }
      + each("help", Extremes.strings) { $0.help = $1 }
      + each("unit", kinds: all, Extremes.strings) { $0.unit = $1 }
      + each("Sample.value", kinds: all, Extremes.doubles) { $0.samples[0].value = $1 }
      + each("samples", [("no element", []), ("100,000 elements", many), ("100,000 equal ones", same)]) {
        $0.samples = $1
      }
      + each("samples", Extremes.texts) { $0.samples[0].labels = Labels($1) }
  }

  /// What is asked of a registry.
  private static var readings: [Extreme] {
    Extreme.eachWhileRunning("Registry.exposition(accept:)", Extremes.strings) {
      _ = $0.tap.registry.exposition(accept: $1)
    }
      + Extreme.eachWhileRunning("Registry.exposition(in:names:)", Extremes.sets) {
        _ = $0.tap.registry.exposition(in: .openMetrics, names: $1)
      }
      + Extreme.eachWhileRunning("Registry.removeSeries(of:labels:)", Extremes.strings) {
        $0.tap.registry.removeSeries(of: $1, labels: Labels([$1: $1]))
      }
      + Extreme.eachWhileRunning("Registry.removeAllSeries(of:)", Extremes.strings) {
        $0.tap.registry.removeAllSeries(of: $1)
      }
      + Extreme.eachWhileRunning("ExpositionFormat.init(accept:)", Extremes.strings) {
        _ = ExpositionFormat(accept: $1)
      }
      + Extreme.eachWhileRunning(
        "ScrapeHandler.scrape(accept:acceptEncoding:names:completion:)", Extremes.strings
      ) {
        let done = Gate()
        ScrapeHandler(registry: $0.tap.registry) { $0() }
          .scrape(accept: $1, acceptEncoding: $1, names: [$1]) { _ in done.open() }
        try await done.wait("an answer")
      }
  }
}
