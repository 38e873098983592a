/// Whatever a registry asks for metrics.
protocol MetricSource: Sendable {
  /// The families that the source gives, always the same.
  var descriptors: [FamilyDescriptor] { get }
  /// The families as they are now.
  func gather() -> [any GatheredFamily]
  /// What the families tell about themselves.
  var statistics: [FamilyStatistics] { get }
}
