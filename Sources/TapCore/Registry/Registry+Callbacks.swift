extension Registry {
  /// Registers a counter whose value is kept elsewhere and read at each scrape.
  ///
  ///     try registry.counter("pool_opened_total", help: "Connections opened.") { Double(pool.opened) }
  ///
  /// - Parameters:
  ///   - name: the metric's name, which ends in `_total`.
  ///   - help: one line that says what is counted.
  ///   - unit: the unit in the name, before `_total`.
  ///   - labels: labels of this one series; a name may have several series with different labels.
  ///   - value: returns the value, which must never go down. Called on the thread that serves a scrape,
  ///     without a lock: it must not wait. A value that is below 0 or not a number is omitted.
  /// - Throws: ``RegistryError`` if the name or a label is invalid, or the name or the series is taken.
  public func counter(
    _ name: String, help: String, unit: String? = nil, labels: Labels = .none,
    value: @escaping @Sendable () -> Double
  ) throws(RegistryError) {
    try addCallback(name, help: help, type: .counter, unit: unit, labels: labels, value)
  }

  /// Registers a gauge whose value is kept elsewhere and read at each scrape.
  ///
  ///     try registry.gauge("queue_depth", help: "Jobs that wait.") { Double(queue.count) }
  ///
  /// - Parameters:
  ///   - name: the metric's name.
  ///   - help: one line that says what the value is.
  ///   - unit: the unit at the end of the name.
  ///   - labels: labels of this one series; a name may have several series with different labels.
  ///   - value: returns the value. Called on the thread that serves a scrape, without a lock: it must not
  ///     wait.
  /// - Throws: ``RegistryError`` if the name or a label is invalid, or the name or the series is taken.
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
    let family = try family(name, help, type, unit, SeriesOptions(limit: .max), render: render) { _ in
      Callback(value)
    }
    guard family.add(Callback(value), for: labels) else {
      throw RegistryError(.nameTaken, metric: name, detail: "a callback with the same labels")
    }
  }
}

/// A value that the app computes when it is written. No lock is held then: it may use the registry.
private final class Callback: Instrument {
  private let value: @Sendable () -> Double

  init(_ value: @escaping @Sendable () -> Double) { self.value = value }

  var reading: InstrumentReading { .number(value(), isSinceCreation: false) }

  var activity: UInt64 { 0 }
}
