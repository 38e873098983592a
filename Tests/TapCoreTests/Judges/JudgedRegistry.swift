import TestSupport

@testable import TapCore

/// A registry with the characters, texts and numbers that are hard to write, and what a reader of its
/// exposition must find.
struct JudgedRegistry {
  let registry = Registry()
  /// Without the metrics that the registry adds.
  private(set) var samples: [SampleKey: Double] = [:]

  init() throws {
    let scalars = (0..<0xa0).compactMap { UnicodeScalar($0 as Int) }
    let help = String(String.UnicodeScalarView(scalars))
    for scalar in scalars {
      try set(1, "characters", help, ["code": "\(scalar.value)", "text": "<\(scalar)>"])
    }
    let texts = ["\r\n\\", "\"\\n", "\\\"", "\u{2028}\u{feff}", "aé€😀", "{}=,#\t "]
    for (place, text) in texts.enumerated() {
      try set(2, "text_\(place)", text, ["a": text])
      try set(3, "text_\(place)", text, ["a": "x", "b_1": text])
    }
    let numbers: [Double] = [.infinity, -.infinity, 0, -1.5, 1e300, .leastNonzeroMagnitude, 1 / 3.0, 0x1p53]
    for (place, number) in numbers.enumerated() {
      try set(number, "numbers", "", place == 0 ? [:] : ["place": "\(place)"])
    }
    let counter = try registry.counter("counted_total", help: "")
    for number in [1_000_000, 1 / 3.0] { counter.increment(by: number) }
    samples[SampleKey(name: "counted_total", labels: [:])] = counter.value
    for kind in ["a", "\n"] {
      let histogram = try registry.histogram(
        "times", help: "", buckets: [0.25, 1, 10], labels: ["kind": kind])
      for time in [0.1, 0.25, 1 / 3.0, 7, 70] { histogram.record(time) }
      for (bound, count) in [("0.25", 2), ("1.0", 3), ("10.0", 4), ("+Inf", 5)] {
        samples[SampleKey(name: "times_bucket", labels: ["kind": kind, "le": bound])] = Double(count)
      }
      samples[SampleKey(name: "times_count", labels: ["kind": kind])] = 5
      samples[SampleKey(name: "times_sum", labels: ["kind": kind])] = histogram.snapshot.sum
    }
  }

  private mutating func set(
    _ value: Double, _ name: String, _ help: String, _ labels: [String: String]
  ) throws {
    try registry.gauge(name, help: help, labels: Labels(labels)).set(value)
    samples[SampleKey(name: name, labels: labels)] = value
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
