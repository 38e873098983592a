import Synchronization

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
  func gather(at now: ContinuousClock.Instant) -> [any GatheredFamily] {
    let callbacks = callbacks.withLock { $0 }
    return [
      GatheredSamples(
        descriptor: descriptor,
        samples: callbacks.map { GatheredSamples.Sample(labels: $0.key, value: $0.value()) })
    ]
  }

  var statistics: [FamilyStatistics] { [] }
}
