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

/// A family whose samples are plain values.
public struct MetricFamily: Sendable {
  /// The name, with `_total` for a counter and `_info` for an info.
  public var name: String
  /// One line that says what the metric is.
  public var help: String
  /// A counter, a gauge or an info.
  public var kind: Kind
  /// The unit that the name ends in, if any.
  public var unit: String?
  /// The samples.
  public var samples: [Sample]

  /// Makes a family. Its names are checked where a ``Collector`` that gives it is registered.
  public init(name: String, help: String, kind: Kind, unit: String? = nil, samples: [Sample]) {
    self.name = name
    self.help = help
    self.kind = kind
    self.unit = unit
    self.samples = samples
  }

  /// The kinds of family that have one value a sample.
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// Goes up only; its name ends in `_total`.
    case counter
    /// Goes up and down.
    case gauge
    /// A constant 1 whose labels tell something; its name ends in `_info`.
    case info
  }

  /// One value.
  public struct Sample: Sendable, Hashable {
    /// Labels that tell the samples of a family apart.
    public var labels: Labels
    /// The value.
    public var value: Double

    /// Makes a sample.
    public init(labels: Labels = .none, value: Double) {
      self.labels = labels
      self.value = value
    }
  }
}

extension MetricFamily {
  /// The checked name, help and unit.
  func descriptor() throws(RegistryError) -> FamilyDescriptor {
    let type: MetricType =
      switch kind {
      case .counter: .counter
      case .gauge: .gauge
      case .info: .info
      }
    return try FamilyDescriptor(name: name, help: help, type: type, unit: unit)
  }
}

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

  func gather(at now: Instant) -> [any GatheredFamily] {
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
