/// Provides metrics whose values are kept elsewhere: a pool's size, the process's memory.
///
/// A registry asks each collector at every scrape, and once at its registration to learn the names. A
/// collector returns the same families every time. The registry omits a family that was not among the first
/// ones, and a sample with an invalid label name, with the labels of another one, or with an invalid value.
public protocol Collector: Sendable {
  /// The current families. Called on the thread that serves a scrape, without a lock: it must not wait.
  func collect() -> [MetricFamily]
}

/// A collector as a registry sees it: what it gives is checked at every scrape.
struct CollectorSource: MetricSource {
  let descriptors: [FamilyDescriptor]
  private let collector: any Collector

  init(_ collector: any Collector) throws(RegistryError) {
    var descriptors: [FamilyDescriptor] = []
    for family in collector.collect() {
      let type: MetricType =
        switch family.kind {
        case .counter: .counter
        case .gauge: .gauge
        case .info: .info
        }
      descriptors.append(
        try FamilyDescriptor(name: family.name, help: family.help, type: type, unit: family.unit))
      for sample in family.samples {
        try MetricName.checkLabels(sample.labels.pairs.map(\.name), metric: family.name)
        if type == .info, !type.accepts(sample.value) {
          throw RegistryError(.infoNotOne, metric: family.name, detail: "\(sample.value)")
        }
      }
    }
    (self.descriptors, self.collector) = (descriptors, collector)
  }

  func gather(at now: Instant) -> [GatheredFamily] {
    let families = Dictionary(collector.collect().map { ($0.name, $0) }) { first, _ in first }
    return descriptors.compactMap { descriptor in
      guard let family = families[descriptor.name] else { return nil }
      let samples = family.samples.filter { sample in
        (try? MetricName.checkLabels(sample.labels.pairs.map(\.name), metric: family.name)) != nil
      }
      return GatheredFamily(descriptor, samples: samples)
    }
  }
}
