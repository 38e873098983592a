/// Whatever a registry asks for metrics.
protocol MetricSource: Sendable {
  /// The families that the source gives, always the same.
  var descriptors: [FamilyDescriptor] { get }
  /// The families as they are now; series that have been idle for too long are dropped on the way.
  func gather(at now: Instant) -> [GatheredFamily]
  /// Removes the series with these labels, or all. A source of other metrics keeps them.
  func remove(_ labels: RenderedLabels?) -> Bool
}

extension MetricSource { func remove(_ labels: RenderedLabels?) -> Bool { false } }
