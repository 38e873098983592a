enum MetricType: String, Sendable, Hashable, CaseIterable {
  case counter, gauge, histogram
  /// Text 0.0.4 and protobuf have no such type and call it a gauge.
  case info
  /// A counter whose name may lack `_total`. OpenMetrics, which has no such counter, calls it `unknown`.
  case legacyCounter = "unknown"

  /// Whether a sample may have this value: a counter's is never below 0 and never "not a number", an info's
  /// is always 1 (OpenMetrics 1.0, "Counter" and "Info").
  func accepts(_ value: Double) -> Bool {
    switch self {
    case .counter, .legacyCounter: value >= 0
    case .info: value == 1
    case .gauge, .histogram: true
    }
  }
}
