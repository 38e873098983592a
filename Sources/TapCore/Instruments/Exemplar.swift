/// One value that stands for its bucket, and the trace that it came from.
public struct Exemplar: Sendable, Hashable {
  /// The value, in the unit of the metric.
  public let value: Double
  /// When it was recorded.
  public let timestamp: Timestamp
  /// The trace.
  public let trace: TraceContext
}
