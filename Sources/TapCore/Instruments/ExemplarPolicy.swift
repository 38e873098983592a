/// Which requests add an exemplar to their histograms: a value with the ids of its trace.
public enum ExemplarPolicy: Sendable, Hashable {
  /// Requests with a sampled trace, which a tracing system may have recorded.
  case sampled
  /// Every request with a trace. One that is not sampled is in no tracing system; its ids lead to the
  /// request's line in the log.
  case all
}
