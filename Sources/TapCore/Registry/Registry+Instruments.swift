extension Registry {
  /// A counter, made on first use.
  ///
  /// - Parameters:
  ///   - name: the metric's name, which ends in `_total`.
  ///   - help: one line that says what is counted.
  ///   - unit: the unit in the name before `_total`, such as `bytes`, for OpenMetrics.
  ///   - labels: labels of this one series. If their names are known at compile time, use a ``LabelSet``.
  public func counter(
    _ name: String, help: String, unit: String? = nil, labels: Labels = .none
  ) throws(RegistryError) -> Counter {
    let render = try MetricName.renderer(of: labels, metric: name)
    return try family(name, help, .counter, unit, render: render, make: Counter.init)[labels]
  }

  /// A counter under the name that another library gave it, which may lack `_total`, so that boards and
  /// alerts keep their queries. OpenMetrics, whose counters end in `_total`, calls such a one `unknown`.
  public func counter(
    legacyName name: String, help: String, labels: Labels = .none
  ) throws(RegistryError) -> Counter {
    let render = try MetricName.renderer(of: labels, metric: name)
    let type: MetricType = name.hasSuffix("_total") ? .counter : .legacyCounter
    return try family(name, help, type, nil, render: render, make: Counter.init)[labels]
  }

  /// A family of counters, made on first use, whose series the values of the key distinguish. Otherwise as
  /// ``counter(_:help:unit:labels:)``.
  ///
  ///     let jobs = try registry.counter("jobs_total", help: "Jobs done.", by: JobLabels.self)
  ///     jobs[JobLabels(kind: "email")].increment()
  public func counter<Key: LabelSet>(
    _ name: String, help: String, unit: String? = nil, by key: Key.Type,
    configuration: SeriesConfiguration = SeriesConfiguration()
  ) throws(RegistryError) -> Family<Key, Counter> {
    let render = try MetricName.renderer(of: key, metric: name)
    return try family(name, help, .counter, unit, configuration, render: render, make: Counter.init)
  }

  /// A gauge, made on first use. The parameters and errors are those of ``counter(_:help:unit:labels:)``. The
  /// name has no suffix, but for its unit.
  public func gauge(
    _ name: String, help: String, unit: String? = nil, labels: Labels = .none
  ) throws(RegistryError) -> Gauge {
    let render = try MetricName.renderer(of: labels, metric: name)
    return try family(name, help, .gauge, unit, render: render) { _ in Gauge() }[labels]
  }

  /// A family of gauges, made on first use. See ``counter(_:help:unit:by:configuration:)``.
  public func gauge<Key: LabelSet>(
    _ name: String, help: String, unit: String? = nil, by key: Key.Type,
    configuration: SeriesConfiguration = SeriesConfiguration()
  ) throws(RegistryError) -> Family<Key, Gauge> {
    let render = try MetricName.renderer(of: key, metric: name)
    return try family(name, help, .gauge, unit, configuration, render: render) { _ in Gauge() }
  }

  /// A histogram such as `job_duration_seconds`, made on first use. The buckets have the upper bounds in the
  /// metric's unit; invalid ones are an error. For the rest see ``counter(_:help:unit:labels:)``.
  public func histogram(
    _ name: String, help: String, unit: String? = nil, buckets: HistogramBuckets = .seconds,
    labels: Labels = .none
  ) throws(RegistryError) -> Histogram {
    let render = try MetricName.renderer(of: labels, metric: name)
    return try histograms(name, help, unit, buckets, render: render)[labels]
  }

  /// A family of histograms, made on first use. See ``counter(_:help:unit:by:configuration:)`` and
  /// ``histogram(_:help:unit:buckets:labels:)``.
  public func histogram<Key: LabelSet>(
    _ name: String, help: String, unit: String? = nil, buckets: HistogramBuckets = .seconds,
    by key: Key.Type, configuration: SeriesConfiguration = SeriesConfiguration()
  ) throws(RegistryError) -> Family<Key, Histogram> {
    let render = try MetricName.renderer(of: key, metric: name)
    return try histograms(name, help, unit, buckets, configuration, render: render)
  }

  private func histograms<Key>(
    _ name: String, _ help: String, _ unit: String?, _ buckets: HistogramBuckets,
    _ configuration: SeriesConfiguration = SeriesConfiguration(),
    render: @escaping @Sendable (Key) -> RenderedLabels
  ) throws(RegistryError) -> Family<Key, Histogram> {
    let descriptor = try FamilyDescriptor(name: name, help: help, type: .histogram, unit: unit)
    guard buckets.isValid else { throw RegistryError(.invalidBuckets, metric: descriptor.name) }
    let histograms = try source(descriptor) {
      let layout = BucketLayout(buckets)
      return Family(descriptor: descriptor, configuration: configuration, buckets: buckets, render: render) {
        Histogram(layout: layout, dropped: $0)
      }
    }
    guard histograms.buckets?.upperBounds == buckets.upperBounds else {
      throw RegistryError(.conflictingBuckets, metric: descriptor.name)
    }
    return histograms
  }

  /// The family of that description, made on first use.
  func family<Key, Element: SeriesRow>(
    _ name: String, _ help: String, _ type: MetricType, _ unit: String?,
    _ configuration: SeriesConfiguration = SeriesConfiguration(),
    render: @escaping @Sendable (Key) -> RenderedLabels, make: @escaping @Sendable (DroppedValues) -> Element
  ) throws(RegistryError) -> Family<Key, Element> {
    let descriptor = try FamilyDescriptor(name: name, help: help, type: type, unit: unit)
    return try source(descriptor) {
      Family(descriptor: descriptor, configuration: configuration, buckets: nil, render: render, make: make)
    }
  }

  /// Registers a counter whose value is kept elsewhere and read at each scrape.
  ///
  ///     try registry.counter("pool_opened_total", help: "Connections opened.") { Double(pool.opened) }
  ///
  /// The value must never go down. It is read on the thread that serves a scrape, without a lock: it must not
  /// wait. One that is below 0 or not a number is omitted. Throws also if a series of these labels is taken.
  public func counter(
    _ name: String, help: String, unit: String? = nil, labels: Labels = .none,
    value: @escaping @Sendable () -> Double
  ) throws(RegistryError) {
    try addCallback(name, help: help, type: .counter, unit: unit, labels: labels, value)
  }

  /// Registers a gauge whose value is kept elsewhere and read at each scrape, as
  /// ``counter(_:help:unit:labels:value:)`` does a counter. Any value is exposed.
  ///
  ///     try registry.gauge("queue_depth", help: "Jobs that wait.") { Double(queue.count) }
  public func gauge(
    _ name: String, help: String, unit: String? = nil, labels: Labels = .none,
    value: @escaping @Sendable () -> Double
  ) throws(RegistryError) {
    try addCallback(name, help: help, type: .gauge, unit: unit, labels: labels, value)
  }

  private func addCallback(
    _ name: String, help: String, type: MetricType, unit: String?, labels: Labels,
    _ value: @escaping @Sendable () -> Double
  ) throws(RegistryError) {
    let render = try MetricName.renderer(of: labels, metric: name)
    let callback = Callback(value)
    let configuration = SeriesConfiguration(limit: .max)
    let family = try family(name, help, type, unit, configuration, render: render) { _ in callback }
    guard family.add(callback, for: labels) else {
      throw RegistryError(.nameTaken, metric: name, detail: "a callback with the same labels")
    }
  }
}

/// A value that the app computes. Its family does not expire.
private final class Callback: SeriesRow {
  let activity: UInt64 = 0
  private let value: @Sendable () -> Double

  init(_ value: @escaping @Sendable () -> Double) { self.value = value }

  func content(of column: Int) -> GatheredFamily.Content? { .callback(value) }
}
