/// A collector as a registry sees it: what it gives is checked at every scrape.
struct CollectorSource: MetricSource {
  let descriptors: [FamilyDescriptor]
  private let collector: any Collector

  init(_ collector: any Collector) throws(RegistryError) {
    var descriptors: [FamilyDescriptor] = []
    for family in collector.collect() {
      for sample in family.samples {
        try LabelNames.check(sample.labels.pairs.map(\.name), metric: family.name)
      }
      descriptors.append(try family.descriptor())
    }
    self.descriptors = descriptors
    self.collector = collector
  }

  func gather(at now: ContinuousClock.Instant) -> [any GatheredFamily] {
    let families = Dictionary(collector.collect().map { ($0.name, $0) }) { first, _ in first }
    return descriptors.compactMap { descriptor in
      guard let family = families[descriptor.name] else { return nil }
      let samples = family.samples.filter { sample in
        (try? LabelNames.check(sample.labels.pairs.map(\.name), metric: family.name)) != nil
      }
      return GatheredSamples(descriptor: descriptor, samples: samples.map(GatheredSamples.Sample.init))
    }
  }

  var statistics: [FamilyStatistics] { [] }
}
