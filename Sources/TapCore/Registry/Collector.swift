/// Gives metrics whose values live elsewhere: a pool's size, the process's memory.
///
/// A registry asks each collector at every scrape, and once when it is registered, to learn the names. A collector
/// gives the same families every time; a family that it did not give at first, or a sample whose label
/// names cannot be used, is left out.
public protocol Collector: Sendable {
  /// The families as they are now. Called on the thread that serves a scrape, without any lock held: it must not
  /// wait.
  func collect() -> [MetricFamily]
}

/// A collector as a registry sees it: what it gives is checked at every scrape.
struct CollectorSource: MetricSource {
  let descriptors: [FamilyDescriptor]
  private let collector: any Collector

  init(_ collector: any Collector) throws(RegistryError) {
    var descriptors: [FamilyDescriptor] = []
    for family in collector.collect() {
      for sample in family.samples {
        try MetricName.checkLabels(sample.labels.pairs.map(\.name), metric: family.name)
      }
      let type: MetricType =
        switch family.kind {
        case .counter: .counter
        case .gauge: .gauge
        case .info: .info
        }
      descriptors.append(
        try FamilyDescriptor(name: family.name, help: family.help, type: type, unit: family.unit))
    }
    self.descriptors = descriptors
    self.collector = collector
  }

  func gather(at now: Instant) -> [any GatheredFamily] {
    let families = Dictionary(collector.collect().map { ($0.name, $0) }) { first, _ in first }
    return descriptors.compactMap { descriptor in
      guard let family = families[descriptor.name] else { return nil }
      let samples = family.samples.filter { sample in
        (try? MetricName.checkLabels(sample.labels.pairs.map(\.name), metric: family.name)) != nil
      }
      return GatheredSamples(descriptor: descriptor, samples: samples)
    }
  }
}
