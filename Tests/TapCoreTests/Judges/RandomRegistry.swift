import TestSupport

@testable import TapCore

/// A registry with random metrics, and what a reader of its exposition must find.
struct RandomRegistry {
  let registry = Registry()
  private var generator: SeededGenerator
  private(set) var counters: [(key: SampleKey, counter: Registry.Counter)] = []
  private(set) var gauges: [(key: SampleKey, gauge: Registry.Gauge)] = []
  private(set) var histograms: [(key: SampleKey, histogram: Registry.Histogram)] = []

  init(seed: Int) throws {
    generator = SeededGenerator(seed: seed)
    let scalars = (0..<0xa0).compactMap { UnicodeScalar($0 as Int) }
    let help = String(String.UnicodeScalarView(scalars))
    for scalar in scalars {
      let labels = ["code": "\(scalar.value)", "text": "<\(scalar)>"]
      let gauge = try registry.gauge("characters", help: help, labels: Labels(labels))
      gauges.append((SampleKey(name: "characters", labels: labels), gauge))
    }
    var seen: Set<SampleKey> = []
    for number in 0..<6 {
      let help = randomText()
      for _ in 0..<Int.random(in: 1...5, using: &generator) {
        let labels = randomLabels()
        // A label without a value is none.
        let key = SampleKey(
          name: "family_\(number)" + (number % 3 == 0 ? "_total" : ""), labels: labels.filter { $1 != "" })
        guard seen.insert(key).inserted else { continue }
        switch number % 3 {
        case 0: counters.append((key, try registry.counter(key.name, help: help, labels: Labels(labels))))
        case 1: gauges.append((key, try registry.gauge(key.name, help: help, labels: Labels(labels))))
        default:
          // The same for all series of a family. Short decimals read the same in Swift and in Prometheus.
          let buckets: HistogramBuckets = number == 2 ? [0.25, 0.5, 1, 2.5, 10] : .seconds
          let histogram = try registry.histogram(
            key.name, help: help, buckets: buckets, labels: Labels(labels))
          histograms.append((key, histogram))
        }
      }
    }
  }

  mutating func recordSome() {
    for (_, counter) in counters {
      counter.increment(by: Int.random(in: 0...1_000_000, using: &generator))
      counter.increment(by: Double.random(in: 0...1, using: &generator))
    }
    for (_, gauge) in gauges {
      let values = [Double.infinity, -.infinity, 0, -1.5, 1e300, .leastNonzeroMagnitude, 1 / 3.0]
      gauge.set(values.randomElement(using: &generator) ?? 0)
    }
    for (_, histogram) in histograms {
      for _ in 0..<Int.random(in: 0...300, using: &generator) {
        histogram.record(
          Double.random(in: 0...3, using: &generator) * Double.random(in: 0...3, using: &generator))
      }
    }
  }

  /// The samples that a text format must have, without the metrics that the registry adds.
  var expectedSamples: [SampleKey: Double] {
    var samples: [SampleKey: Double] = [:]
    for (key, counter) in counters { samples[key] = counter.value }
    for (key, gauge) in gauges { samples[key] = gauge.value }
    for (key, histogram) in histograms {
      let snapshot = histogram.snapshot
      for (bound, count) in zip(histogram.layout.upperBounds + [.infinity], snapshot.cumulativeCounts) {
        var labels = key.labels
        labels["le"] = bound == .infinity ? "+Inf" : "\(bound)"
        samples[SampleKey(name: key.name + "_bucket", labels: labels)] = Double(count)
      }
      samples[SampleKey(name: key.name + "_count", labels: key.labels)] = Double(snapshot.count)
      samples[SampleKey(name: key.name + "_sum", labels: key.labels)] = snapshot.sum
    }
    return samples
  }

  private mutating func randomLabels() -> [String: String] {
    var labels: [String: String] = [:]
    for name in ["a", "b_1", "client"] where Bool.random(using: &generator) { labels[name] = randomText() }
    return labels
  }

  private mutating func randomText() -> String {
    let pool = Array("\0\r\n\t \"\\n\u{7f}\u{85}\u{2028}\u{feff}aé€😀{}=,#".unicodeScalars)
    let scalars = (0..<Int.random(in: 0...12, using: &generator)).compactMap { _ in
      pool.randomElement(using: &generator)
    }
    return String(String.UnicodeScalarView(scalars))
  }
}

/// Random families whose names and labels clash, with each other and with what the formats make of them.
struct ClashingFamilies {
  private var generator: SeededGenerator

  init(seed: Int) { generator = SeededGenerator(seed: seed) }

  /// A registry with what it takes of random instruments, callbacks and collectors.
  static func registry(seed: Int) -> Registry {
    let registry = Registry()
    var random = ClashingFamilies(seed: seed)
    for _ in 0..<100 { try? random.registerOne(in: registry) }
    return registry
  }

  /// Up to three families of one collector.
  mutating func families() -> [MetricFamily] {
    (0..<Int.random(in: 1...3, using: &generator)).map { _ in
      let kind = pick([MetricFamily.Kind.counter, .gauge, .info])
      let suffix = kind == .counter ? "_total" : kind == .info ? "_info" : ""
      let values = kind == .info && !isRare() ? [1] : [1, 2.5, -1, .nan, .infinity]
      return MetricFamily(
        name: name(suffix), help: "", kind: kind, unit: isRare() ? unit() : nil,
        samples: (0..<Int.random(in: 0...2, using: &generator)).map { _ in
          .init(labels: labels(), value: pick(values))
        })
    }
  }

  private mutating func registerOne(in registry: Registry) throws {
    let kind = Int.random(in: 0..<7, using: &generator)
    let name = name([0, 3, 5].contains(kind) ? "_total" : "")
    let (unit, labels, value) = (unit(), labels(), pick([1, -1, 0.5, .nan, .infinity, 1e18]))
    switch kind {
    case 0: try registry.counter(name, help: "", unit: unit, labels: labels).increment(by: value)
    case 1: try registry.gauge(name, help: "", unit: unit, labels: labels).set(value)
    case 2:
      let bounds = (0..<3).map { _ in pick([-1.5, 0, 1e-7, 1, 1_234_567.5, 1e21]) }.sorted()
      let histogram = try registry.histogram(
        name, help: "", unit: unit, buckets: HistogramBuckets(bounds), labels: labels)
      for value in [value, value / 3] { histogram.record(value, trace: .random(isSampled: true)) }
    case 3: try registry.counter(name, help: "", unit: unit, labels: labels) { value }
    case 4: try registry.gauge(name, help: "", unit: unit, labels: labels) { value }
    case 5:
      let configuration = SeriesConfiguration(limit: 1)
      let jobs = try registry.counter(
        name, help: "", unit: unit, by: JobLabels.self, configuration: configuration)
      for kind in ["a", "b", "c"] { jobs[JobLabels(kind: kind)].increment() }
    default:
      // At a later scrape some other families and values.
      var random = self
      let first = families()
      let later = first.map { with($0) { $0.samples += random.families()[0].samples } }
      try registry.register(ChangingCollector(first: first, later: later + random.families()))
    }
  }

  private mutating func name(_ suffix: String) -> String {
    let ends = ["", "_total", "_info", "_bucket", "_sum", "_count", "_created", "_seconds", "_K"]
    return pick(["jobs", "a:b", "_", "a", "seconds"]) + pick(ends) + (isRare() ? pick(ends) : suffix)
  }

  /// None, one, an empty one, and the sign of the kelvin, which is equal to a K and has other bytes.
  private mutating func unit() -> String? { isRare() ? pick(["seconds", "info", "", "\u{212a}"]) : nil }

  private mutating func labels() -> Labels {
    let names = isRare() ? ["a", "le", "quantile", "otel_metric_overflow", "__name__", "1"] : ["a", "b"]
    let count = Int.random(in: 0...2, using: &generator)
    return Labels(names.shuffled(using: &generator).prefix(count).map { ($0, pick(["", "x", "true"])) })
  }

  private mutating func isRare() -> Bool { Int.random(in: 0..<8, using: &generator) == 0 }

  private mutating func pick<Value>(_ values: [Value]) -> Value {
    values[Int.random(in: values.indices, using: &generator)]
  }
}

/// Gives some families at its registration and others at each scrape.
private final class ChangingCollector: Collector {
  private let first: [MetricFamily]
  private let later: [MetricFamily]
  private let isRegistered = Atomic<Bool>(false)

  init(first: [MetricFamily], later: [MetricFamily]) { (self.first, self.later) = (first, later) }

  func collect() -> [MetricFamily] { isRegistered.exchange(true, ordering: .relaxed) ? later : first }
}

struct SampleKey: Hashable {
  var name: String
  var labels: [String: String]
}
