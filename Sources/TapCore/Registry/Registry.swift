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
    try state.withLock { (state) throws(RegistryError) in try state.add(source) }
  }

  /// The source of that family, or a new one.
  func source<Source: MetricSource>(
    _ descriptor: FamilyDescriptor, make: () -> Source
  ) throws(RegistryError) -> Source {
    try state.withLock { (state) throws(RegistryError) in
      guard let existing = state.byName[descriptor.name] else {
        let source = make()
        try state.add(source)
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
  func gather(at now: Instant = .now) -> [GatheredFamily] {
    let families = state.withLock { $0.sources }.flatMap { $0.gather(at: now) }
    return (families + Self.statistics(of: families)).sorted { $0.descriptor.name < $1.descriptor.name }
  }

  /// What the registry tells about its own families.
  private static let statistics = [
    ("session_tap_series_overflow_total", "Label sets that found no room in their metric."),
    (
      "session_tap_dropped_values_total",
      "Values that no instrument can take: infinite, not a number, or below 0."
    ),
  ].compactMap { try? FamilyDescriptor(name: $0, help: $1, type: .counter, unit: nil) }

  private static func statistics(of families: [GatheredFamily]) -> [GatheredFamily] {
    let counts: [(GatheredFamily) -> UInt64?] = [
      { $0.overflowCount }, { $0.droppedCount > 0 ? $0.droppedCount : nil },
    ]
    return zip(statistics, counts).map { descriptor, count in
      let samples = families.compactMap { family in
        count(family).map {
          MetricFamily.Sample(labels: ["metric": family.descriptor.name], value: Double($0))
        }
      }
      return GatheredFamily(descriptor, samples: samples)
    }
  }

  private struct State {
    var sources: [any MetricSource] = []
    var byName: [String: any MetricSource] = [:]
    private var names = ClaimedNames()

    init() { try? names.add(Registry.statistics) }

    mutating func add(_ source: some MetricSource) throws(RegistryError) {
      let descriptors = source.descriptors
      try names.add(descriptors)
      sources.append(source)
      for descriptor in descriptors { byName[descriptor.name] = source }
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
  ///   - createdSamples: whether OpenMetrics has a sample `_created`, the time when a series began, for each
  ///     counter and histogram. Servers store each as a series of its own. Protobuf has the times in any case.
  public func exposition(
    in format: ExpositionFormat, names: Set<String>? = nil, createdSamples: Bool = false
  ) -> Exposition {
    Exposition(of: gather(), in: format, names: names, createdSamples: createdSamples)
  }

  /// The value of a sample as a scrape would show it now. For tests and health checks, not for a hot path.
  ///
  /// ```swift
  /// let count = tap.registry.value(of: "http_client_request_duration_seconds_count", labels: ["client": "users"])
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of a counter, a gauge or an info; for a histogram, its name with `_count` or `_sum`.
  ///   - labels: Labels that a series must have. If empty, every series matches.
  /// - Returns: The sum over the series that have these labels, or `nil` if there is none.
  public func value(of name: String, labels: [String: String] = [:]) -> Double? {
    let labels = [[UInt8]: [UInt8]](
      labels.map { (Array($0.utf8), Array($1.prefix(utf8Length: RenderedLabels.maximumValueLength).utf8)) }
    ) { first, _ in first }
    let sums = gather().compactMap { family -> Double? in
      let familyName = family.descriptor.name
      return name.hasPrefix(familyName)
        ? family.sum(suffix: name.dropFirst(familyName.count), labels: labels) : nil
    }
    return sums.first
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
    _ = state.withLock { $0.byName[name] }?.remove(nil)
  }
}
