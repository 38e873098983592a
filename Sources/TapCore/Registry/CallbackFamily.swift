import Synchronization

extension Registry {
  /// A counter whose value lives elsewhere and is read at each scrape.
  ///
  ///     try registry.counter("pool_opened_total", help: "Connections opened.") { Double(pool.opened) }
  ///
  /// - Parameters:
  ///   - name: the metric's name, which ends in `_total`.
  ///   - help: one line that says what is counted.
  ///   - unit: the unit that the name ends in before `_total`.
  ///   - labels: labels of this one series; a name may have several series with different labels.
  ///   - value: gives the value, which must never go down. Called on the thread that serves a scrape, without any lock
  ///     held: it must not wait. A value below 0 or not a number is left out.
  /// - Throws: ``RegistryError`` if the name or a label cannot be used, or the name or the series is taken.
  public func counter(
    _ name: String, help: String, unit: String? = nil, labels: Labels = .none,
    value: @escaping @Sendable () -> Double
  ) throws(RegistryError) {
    try addCallback(name, help: help, type: .counter, unit: unit, labels: labels, value)
  }

  /// A gauge whose value lives elsewhere and is read at each scrape.
  ///
  ///     try registry.gauge("queue_depth", help: "Jobs that wait.") { Double(queue.count) }
  ///
  /// - Parameters:
  ///   - name: the metric's name.
  ///   - help: one line that says what the value is.
  ///   - unit: the unit that the name ends in.
  ///   - labels: labels of this one series; a name may have several series with different labels.
  ///   - value: gives the value. Called on the thread that serves a scrape, without any lock held: it must not wait.
  /// - Throws: ``RegistryError`` if the name or a label cannot be used, or the name or the series is taken.
  public func gauge(
    _ name: String, help: String, unit: String? = nil, labels: Labels = .none,
    value: @escaping @Sendable () -> Double
  ) throws(RegistryError) {
    try addCallback(name, help: help, type: .gauge, unit: unit, labels: labels, value)
  }

  private func addCallback(
    _ name: String, help: String, type: MetricType, unit: String?, labels: Labels,
    _ value: @escaping CallbackFamily.Callback
  ) throws(RegistryError) {
    try LabelNames.check(labels.pairs.map(\.name), metric: name)
    let descriptor = try FamilyDescriptor(name: name, help: help, type: type, unit: unit)
    let family = try source(descriptor) { CallbackFamily(descriptor: descriptor) }
    guard family.add(RenderedLabels(labels.pairs), value) else {
      throw RegistryError(.nameTaken, metric: name, detail: "a callback with the same labels")
    }
  }
}

/// A family whose values the app computes at each scrape.
final class CallbackFamily: MetricSource, SeriesRemoval {
  typealias Callback = @Sendable () -> Double

  let descriptor: FamilyDescriptor
  private let callbacks = Mutex<[RenderedLabels: Callback]>([:])

  init(descriptor: FamilyDescriptor) {
    self.descriptor = descriptor
  }

  /// Adds a series. `false` if there is one with these labels.
  func add(_ labels: RenderedLabels, _ callback: @escaping Callback) -> Bool {
    callbacks.withLock { callbacks in
      guard callbacks[labels] == nil else { return false }
      callbacks[labels] = callback
      return true
    }
  }

  func remove(_ labels: RenderedLabels) -> Bool {
    callbacks.withLock { $0.removeValue(forKey: labels) != nil }
  }

  func removeAll() {
    callbacks.withLock { $0 = [:] }
  }

  var descriptors: [FamilyDescriptor] { [descriptor] }

  /// The callbacks run after the lock is released: they may use the registry.
  func gather(at now: Instant) -> [any GatheredFamily] {
    let callbacks = callbacks.withLock { $0 }
    return [
      GatheredSamples(
        descriptor: descriptor,
        samples: callbacks.map { GatheredSamples.Sample(labels: $0.key, value: $0.value()) })
    ]
  }

  var statistics: [FamilyStatistics] { [] }
}
