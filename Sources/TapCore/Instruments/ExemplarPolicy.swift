/// Which requests leave exemplars in their histograms.
public enum ExemplarPolicy: Sendable, Hashable {
  /// Requests with a sampled trace, which a tracing system may have recorded.
  case sampled
  /// Every request with a trace. The request log has the trace at least.
  case all
}
