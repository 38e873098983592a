/// Why a metric cannot be registered. Such an error is a mistake in the program. It occurs when the metric is
/// first made, so make metrics at the start.
public struct RegistryError: Error, Sendable, CustomStringConvertible {
  package let code: Code
  package let metric: String
  /// The offending part, such as a label's name, if there is one.
  let detail: String?

  init(_ code: Code, metric: String, detail: String? = nil) {
    (self.code, self.metric, self.detail) = (code, metric, detail)
  }

  /// The metric, the cause and the remedy in one line.
  public var description: String {
    "metric '\(metric)'\(detail.map { " ('\($0)')" } ?? ""): \(code.rawValue)"
  }

  /// A kind of mistake, and what to do about it.
  package enum Code: String, Sendable {
    case invalidName = "not a metric name; use letters, digits, '_' and ':', and no digit first"
    case counterWithoutTotal = "a counter's name ends in '_total' (OpenMetrics); add it"
    case infoWithoutSuffix = "an info metric's name ends in '_info'; add it"
    case infoNotOne = "the value of an info metric is 1; use labels for what it says, or a gauge"
    case unitNotInName =
      "the unit must be the last part of the name, before '_total', and an info has none; rename or leave it out"
    case invalidLabelName = "not a label name; use letters, digits and '_', no digit and no '__' first"
    /// The label is `le`, `quantile` or `otel_metric_overflow`.
    case reservedLabelName = "the label is one that the exposition itself writes; rename it"
    case duplicateLabelName = "the label stands twice; remove one"
    case invalidBuckets = "buckets must be 1 to 256 finite bounds in ascending order"
    case conflictingType = "already registered with another type; choose another name"
    case conflictingDescription = "already registered with another help text or unit; make them the same"
    case conflictingBuckets = "already registered with other buckets; make them the same"
    /// Also by a collector or a callback.
    case conflictingLabels = "already registered with another type of label key; use the same everywhere"
    case nameTaken = "the name or one derived from it belongs to another metric; choose another name"
  }
}
