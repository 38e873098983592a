import Synchronization

/// The metrics of an app: makes instruments, and writes their values for Prometheus.
///
///     let jobs = try registry.counter("jobs_total", help: "Jobs done.")
///     jobs.increment()
///
/// Registering the same metric again returns the existing instrument. Registering another metric under a name
/// that is taken throws a ``RegistryError``. May be used from any thread.
public final class Registry: Sendable {
  private let state = Mutex(State())

  /// Makes an empty registry.
  public init() {}

  /// Adds the metrics of a collector.
  ///
  /// - Throws: ``RegistryError`` if a name or a label is invalid, or a name is taken.
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
  func gather(at now: Instant = .now) -> [any GatheredFamily] {
    let sources = state.withLock { $0.sources }
    let families = sources.flatMap { $0.gather(at: now) } + RegistryStatistics.families(of: sources)
    return families.sorted { $0.descriptor.name < $1.descriptor.name }
  }

  private struct State {
    var sources: [any MetricSource] = []
    var byName: [String: any MetricSource] = [:]
    /// Every name that a family takes in any format.
    var claims = Set(RegistryStatistics.descriptors.flatMap(\.claims))

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

  /// Writes all metrics in the scraper's preferred format.
  ///
  /// Sorts families by name and series by label values. Holds no lock while it writes bytes.
  ///
  /// - Parameter accept: the value of the request's `Accept` header; without it, text 0.0.4.
  public func exposition(accept: String? = nil) -> Exposition {
    exposition(in: ExpositionFormat(accept: accept))
  }

  /// Writes metrics in one format.
  ///
  /// - Parameters:
  ///   - format: the format.
  ///   - names: limits the exposition to families of these names, or with samples of these names such as
  ///     `x_seconds_count`. `nil` writes all; unknown names are ignored.
  public func exposition(in format: ExpositionFormat, names: Set<String>? = nil) -> Exposition {
    Exposition(of: gather(), in: format, names: names)
  }

  /// Writes all metrics in one format. Replaces the buffer's contents and reuses its capacity.
  ///
  /// - Parameters:
  ///   - format: the format.
  ///   - buffer: receives the exposition. Passing the same one again saves an allocation for each scrape.
  public func write(_ format: ExpositionFormat, into buffer: inout [UInt8]) {
    Exposition.write(gather(), in: format, to: &buffer)
  }

  /// Removes one series with run-time labels, from the next scrape on.
  ///
  /// An instrument that the app has kept goes on recording, but is no longer exposed. Asking for the series
  /// again makes a new one. Typed families have ``Family/remove(_:)``.
  ///
  /// - Parameters:
  ///   - name: the metric's name, as registered.
  ///   - labels: the labels of the series, in any order.
  /// - Returns: whether the series existed.
  @discardableResult
  public func removeSeries(of name: String, labels: Labels) -> Bool {
    state.withLock { $0.byName[name] }?.remove(RenderedLabels(labels.pairs)) ?? false
  }

  /// Removes all series of a metric. Its name stays taken.
  public func removeAllSeries(of name: String) {
    state.withLock { $0.byName[name] }?.removeAll()
  }
}
