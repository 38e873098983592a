import Synchronization

/// The metrics of an app: makes instruments, and writes their values for Prometheus.
///
///     let jobs = try registry.counter("jobs_total", help: "Jobs done.")
///     jobs.increment()
///
/// To register the very same metric twice returns the instrument there is; to register another one under a
/// name that is taken throws a ``RegistryError``. Safe to use from any thread.
public final class Registry: Sendable {
  private let state = Mutex(State())

  /// Makes an empty registry.
  public init() {}

  /// Adds the metrics of a collector.
  ///
  /// - Throws: ``RegistryError`` if a name or a label cannot be used, or a name is taken.
  public func register(_ collector: some Collector) throws(RegistryError) {
    try add(CollectorSource(collector))
  }

  /// Adds a source of families whose names are free.
  func add(_ source: some MetricSource) throws(RegistryError) {
    let descriptors = source.descriptors
    try state.withLock { (state) throws(RegistryError) in
      for descriptor in descriptors { try state.checkNames(of: descriptor) }
      state.add(source, descriptors)
    }
  }

  /// The source of that family, or a new one.
  func source<Source: MetricSource>(
    _ descriptor: FamilyDescriptor, make: () -> Source
  ) throws(RegistryError) -> Source {
    try state.withLock { (state) throws(RegistryError) in
      guard let existing = state.byName[descriptor.name] else {
        try state.checkNames(of: descriptor)
        let source = make()
        state.add(source, [descriptor])
        return source
      }
      let known = existing.descriptors.first { $0.name == descriptor.name }
      guard known?.type == descriptor.type else {
        throw RegistryError(.conflictingType, metric: descriptor.name)
      }
      guard known == descriptor else {
        throw RegistryError(.conflictingDescription, metric: descriptor.name)
      }
      guard let source = existing as? Source else {
        throw RegistryError(.conflictingLabels, metric: descriptor.name)
      }
      return source
    }
  }

  /// All families as they are now, by name.
  func gather(at now: ContinuousClock.Instant = .now) -> [any GatheredFamily] {
    let sources = state.withLock { $0.sources }
    let families = sources.flatMap { $0.gather(at: now) } + RegistryStatistics.families(of: sources)
    return families.sorted { $0.descriptor.name < $1.descriptor.name }
  }

  /// The family of that name, if its series have run-time labels.
  func removableFamily(_ name: String) -> (any SeriesRemoval)? {
    state.withLock { $0.byName[name] } as? any SeriesRemoval
  }

  private struct State {
    var sources: [any MetricSource] = []
    var byName: [String: any MetricSource] = [:]
    /// Every name that a family takes in any format.
    var claims = Set(RegistryStatistics.names)

    func checkNames(of descriptor: FamilyDescriptor) throws(RegistryError) {
      if let taken = descriptor.claims.first(where: { claims.contains($0) }) {
        throw RegistryError(.nameTaken, metric: descriptor.name, detail: taken)
      }
    }

    mutating func add(_ source: any MetricSource, _ descriptors: [FamilyDescriptor]) {
      sources.append(source)
      for descriptor in descriptors {
        byName[descriptor.name] = source
        claims.formUnion(descriptor.claims)
      }
    }
  }
}
