import Synchronization

/// The metrics of an app: makes instruments, and writes their values for Prometheus. Registering the same
/// metric again returns the existing instrument; another metric under its name throws a ``RegistryError``.
/// Any thread may use it.
///
///     let jobs = try registry.counter("jobs_total", help: "Jobs done.")
///     jobs.increment()
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
      if known == descriptor, let source = existing as? Source { return source }
      let code: RegistryError.Code =
        known == descriptor
        ? .conflictingLabels : known?.type == descriptor.type ? .conflictingDescription : .conflictingType
      throw RegistryError(code, metric: descriptor.name)
    }
  }

  func gather(at now: Instant = .now) -> [GatheredFamily] {
    let families = state.withLock { $0.sources }.flatMap { $0.gather(at: now) }
    return (families + Self.statistics(of: families)).sorted { $0.descriptor.name < $1.descriptor.name }
  }

  /// What the registry tells about its own families.
  private static let statistics = [
    ("session_tap_series_overflow_total", "Look-ups of label sets that found no room in their metric."),
    (
      "session_tap_dropped_values_total",
      "Values that no instrument can take: infinite, not a number, or below 0."
    ),
  ].compactMap { try? FamilyDescriptor(name: $0, help: $1, type: .counter, unit: nil) }

  private static func statistics(of families: [GatheredFamily]) -> [GatheredFamily] {
    zip(statistics, [\GatheredFamily.overflowCount, \.droppedCount]).map { descriptor, count in
      let samples = families.compactMap { family in
        family[keyPath: count].map {
          MetricFamily.Sample(labels: ["metric": family.descriptor.name], value: Double($0))
        }
      }
      return GatheredFamily(descriptor, samples: samples)
    }
  }

  private struct State {
    var sources: [any MetricSource] = []
    var byName: [String: any MetricSource] = [:]
    /// The names that the families take in any format.
    private var claims = Set(Registry.statistics.flatMap(\.claims))

    /// Throws, and adds nothing, if a name is taken by a family of the registry or of the source itself.
    mutating func add(_ source: some MetricSource) throws(RegistryError) {
      var new: Set<String> = []
      for descriptor in source.descriptors {
        for name in descriptor.claims where claims.contains(name) || !new.insert(name).inserted {
          throw RegistryError(.nameTaken, metric: descriptor.name, detail: name)
        }
      }
      claims.formUnion(new)
      sources.append(source)
      for descriptor in source.descriptors { byName[descriptor.name] = source }
    }
  }

  /// Writes all metrics in the scraper's preferred format, families by name and series by label values.
  ///
  /// - Parameter accept: the value of the request's `Accept` header; without it, text 0.0.4.
  public func exposition(accept: String? = nil) -> Exposition {
    let format = NegotiatedFormat(accept: accept)
    return Exposition(of: gather(), in: format.format, as: format.contentType)
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

  /// Writes all metrics in pieces, as a scrape that is compressed does: the whole text is never in memory.
  package func write(in format: ExpositionFormat, to output: ([UInt8]) -> Void) {
    Exposition.write(gather(), in: format, pieceLength: Exposition.pieceLength, to: output)
  }

  /// The value of a sample as a scrape would show it now. For tests and health checks, not for a hot path.
  ///
  /// - Parameters:
  ///   - name: The name of a counter, a gauge or an info; for a histogram, its name with `_count` or `_sum`.
  ///   - labels: Labels that a series must have. If empty, every series matches.
  /// - Returns: The sum over the series that have these labels, or `nil` if there is none.
  public func value(of name: String, labels: [String: String] = [:]) -> Double? {
    let labels = labels.map {
      (name: Array($0.utf8), value: Array($1.prefix(utf8Length: RenderedLabels.maximumValueLength).utf8))
    }
    // Not `lazy.first`, which calls the app's callbacks twice.
    for family in gather() where name.hasPrefix(family.descriptor.name) {
      let suffix = name.dropFirst(family.descriptor.name.count)
      if let sum = family.sum(suffix: suffix, labels: labels) { return sum }
    }
    return nil
  }

  /// Removes one series with run-time labels, from the next scrape on. Returns whether it existed. An
  /// instrument that the app has kept goes on recording unseen. Typed families have ``Family/remove(_:)``.
  @discardableResult public func removeSeries(of name: String, labels: Labels) -> Bool {
    state.withLock { $0.byName[name] }?.remove(RenderedLabels(labels.pairs)) ?? false
  }
}

protocol MetricSource: Sendable {
  /// The families that the source gives, always the same.
  var descriptors: [FamilyDescriptor] { get }
  /// The families as they are now; series that have been idle for too long are dropped on the way.
  func gather(at now: Instant) -> [GatheredFamily]
  /// Removes the series with these labels. A source of other metrics keeps them.
  func remove(_ labels: RenderedLabels) -> Bool
}

extension MetricSource { func remove(_ labels: RenderedLabels) -> Bool { false } }

/// Why a metric cannot be registered. Such an error is a mistake in the program. It occurs when the metric is
/// first made, so make metrics at the start.
public struct RegistryError: Error, Sendable, CustomStringConvertible {
  package let code: Code
  package let metric: String
  /// The offending part, such as a label's name, if there is one.
  let detail: String?

  init(_ code: Code, metric: String, detail: String? = nil) {
    (self.code, self.metric, self.detail) = (code, metric, detail)
  }

  /// The metric, the cause and the remedy in one line.
  public var description: String {
    "metric '\(metric)'\(detail.map { " ('\($0)')" } ?? ""): \(code.rawValue)"
  }

  /// A kind of mistake, and what to do about it.
  package enum Code: String, Sendable {
    case invalidName = "not a metric name; use letters, digits, '_' and ':', and no digit first"
    case counterWithoutTotal = "a counter's name ends in '_total' (OpenMetrics); add it"
    case infoWithoutSuffix = "an info metric's name ends in '_info'; add it"
    case infoNotOne = "the value of an info metric is 1; use labels for what it says, or a gauge"
    case unitNotInName =
      "the unit must be the last part of the name, before '_total', and an info has none; rename or leave it out"
    case invalidLabelName = "not a label name; use letters, digits and '_', no digit and no '__' first"
    /// The label is `le`, `quantile` or `otel_metric_overflow`.
    case reservedLabelName = "the label is one that the exposition itself writes; rename it"
    case duplicateLabelName = "the label stands twice; remove one"
    case invalidBuckets = "buckets must be 1 to 256 finite bounds in ascending order"
    case conflictingType = "already registered with another type; choose another name"
    case conflictingDescription = "already registered with another help text or unit; make them the same"
    case conflictingBuckets = "already registered with other buckets; make them the same"
    /// Also by a collector or a callback.
    case conflictingLabels = "already registered with another type of label key; use the same everywhere"
    case nameTaken = "the name or one derived from it belongs to another metric; choose another name"
  }
}
