/// Provides metrics whose values are kept elsewhere: a pool's size, the process's memory.
///
/// A registry asks each collector at every scrape, and once at its registration to learn the names. It omits
/// a family that was not among the first ones, and a sample with an invalid label name, with the labels of
/// another one, or with an invalid value.
public protocol Collector: Sendable {
  /// The current families. Called on the thread that serves a scrape, without a lock: it must not wait.
  func collect() -> [MetricFamily]
}

/// A collector as a registry sees it: its families are checked at every scrape.
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

/// A family whose samples are plain values.
public struct MetricFamily: Sendable {
  package var name: String
  package var help: String
  package var kind: Kind
  package var unit: String?
  package var samples: [Sample]

  /// Makes a family. The registry checks its names when its ``Collector`` is registered.
  ///
  /// - Parameters:
  ///   - name: The name, with `_total` for a counter and `_info` for an info.
  ///   - help: One line that says what the metric is.
  ///   - kind: What its samples are.
  ///   - unit: The unit at the end of the name, if any. An info has none.
  ///   - samples: The values, each with its labels.
  public init(name: String, help: String, kind: Kind, unit: String? = nil, samples: [Sample]) {
    (self.name, self.help, self.kind, self.unit, self.samples) = (name, help, kind, unit, samples)
  }

  /// The kinds of families with one value per sample.
  public enum Kind: Sendable {
    /// Goes up only; its name ends in `_total`.
    case counter
    /// Goes up and down.
    case gauge
    /// A constant 1 whose labels carry the information; its name ends in `_info`.
    case info
  }

  /// One value.
  public struct Sample: Sendable {
    package var labels: Labels
    package var value: Double

    /// Makes a sample, which its labels distinguish from the others of its family.
    public init(labels: Labels = .none, value: Double) { (self.labels, self.value) = (labels, value) }
  }
}
