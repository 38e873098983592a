/// The kind of a metric family.
enum MetricType: String, Sendable, Hashable, CaseIterable {
  /// Goes up only; its name ends in `_total`.
  case counter
  /// Goes up and down.
  case gauge
  /// Counts values in buckets.
  case histogram
  /// A constant 1 whose labels tell something; its name ends in `_info`. Text 0.0.4 and protobuf have no such
  /// type and call it a gauge.
  case info
}
