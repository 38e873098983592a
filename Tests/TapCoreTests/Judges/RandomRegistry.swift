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
    var seen: Set<SampleKey> = []
    for number in 0..<6 {
      let help = randomText()
      for _ in 0..<Int.random(in: 1...5, using: &generator) {
        let labels = randomLabels()
        let isNew = seen.insert(SampleKey(name: "\(number)", labels: visible(labels))).inserted
        guard isNew else { continue }
        let name = "family_\(number)"
        switch number % 3 {
        case 0:
          let counter = try registry.counter(name + "_total", help: help, labels: Labels(labels))
          counters.append((SampleKey(name: name + "_total", labels: visible(labels)), counter))
        case 1:
          let gauge = try registry.gauge(name, help: help, labels: Labels(labels))
          gauges.append((SampleKey(name: name, labels: visible(labels)), gauge))
        default:
          let histogram = try registry.histogram(
            name, help: help, buckets: buckets(number), labels: Labels(labels))
          histograms.append((SampleKey(name: name, labels: visible(labels)), histogram))
        }
      }
    }
  }

  /// Records some values everywhere.
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

  /// The same for all series of a family. Short decimals read the same in Swift and in Prometheus.
  private func buckets(_ number: Int) -> HistogramBuckets {
    number == 2 ? [0.25, 0.5, 1, 2.5, 10] : .seconds
  }

  private mutating func randomLabels() -> [String: String] {
    var labels: [String: String] = [:]
    for name in ["a", "b_1", "client"] where Bool.random(using: &generator) { labels[name] = randomText() }
    return labels
  }

  /// Every control character, quotes, backslashes, what is not ASCII.
  private mutating func randomText() -> String {
    let pool =
      (0...0x20).compactMap { UnicodeScalar($0 as Int) }
      + Array("\"\\n\u{7f}\u{85}\u{2028}\u{feff}aé€😀{}=,#".unicodeScalars)
    var text = ""
    for _ in 0..<Int.random(in: 0...12, using: &generator) {
      if let scalar = pool.randomElement(using: &generator) { text.unicodeScalars.append(scalar) }
    }
    return text
  }

  private func visible(_ labels: [String: String]) -> [String: String] {
    labels.filter { !$0.value.isEmpty }
  }
}

/// The identity of a sample.
struct SampleKey: Hashable {
  var name: String
  var labels: [String: String]
}
