/// Whatever a registry asks for metrics.
protocol MetricSource: Sendable {
  /// The families that the source gives, always the same.
  var descriptors: [FamilyDescriptor] { get }
  /// The families as they are now; series that have been idle for too long are dropped on the way.
  func gather(at now: Instant) -> [any GatheredFamily]
  /// What the families tell about themselves.
  var statistics: [FamilyStatistics] { get }
  /// Removes the series with these labels, or all. A source of other metrics keeps them.
  func remove(_ labels: RenderedLabels) -> Bool
  func removeAll()
}

extension MetricSource {
  var statistics: [FamilyStatistics] { [] }

  func remove(_ labels: RenderedLabels) -> Bool { false }

  func removeAll() {}
}

/// What a family tells about itself.
struct FamilyStatistics: Sendable, Hashable {
  let metric: String
  /// `nil` where the family has never been asked for labels.
  let overflowCount: UInt64?
  let droppedCount: UInt64
}
