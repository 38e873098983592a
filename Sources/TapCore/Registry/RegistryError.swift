/// Why a metric cannot be registered. Such an error is a mistake in the program. It occurs when the metric is
/// first made, so make metrics at the start.
public struct RegistryError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of mistake.
  public let code: Code
  /// The name of the metric.
  public let metric: String
  /// The offending part, such as a label's name, if there is one.
  public let detail: String?

  init(_ code: Code, metric: String, detail: String? = nil) {
    (self.code, self.metric, self.detail) = (code, metric, detail)
  }

  /// The cause and the remedy in one line.
  public var description: String {
    "metric '\(metric)'\(detail.map { " ('\($0)')" } ?? ""): \(code.explanation)"
  }

  /// A kind of mistake. More may be added: a `switch` over them needs a default.
  public struct Code: Sendable, Equatable {
    let explanation: String

    private init(_ explanation: String) { self.explanation = explanation }

    /// The name is not `[a-zA-Z_:][a-zA-Z0-9_:]*`.
    public static let invalidName = Code(
      "not a metric name; use letters, digits, '_' and ':', and no digit first")
    /// A counter's name does not end in `_total`.
    public static let counterWithoutTotal = Code("a counter's name ends in '_total' (OpenMetrics); add it")
    /// An info metric's name does not end in `_info`.
    public static let infoWithoutSuffix = Code("an info metric's name ends in '_info'; add it")
    /// A sample of an info metric has another value than 1.
    public static let infoNotOne = Code(
      "the value of an info metric is 1; use labels for what it says, or a gauge")
    /// The name does not end in the unit, or an info metric has one.
    public static let unitNotInName = Code(
      "the unit must be the last part of the name, before '_total', and an info has none; rename or leave it out"
    )
    /// A label's name is not `[a-zA-Z_][a-zA-Z0-9_]*`, or begins with two underscores.
    public static let invalidLabelName = Code(
      "not a label name; use letters, digits and '_', no digit and no '__' first")
    /// The label is `le`, which belongs to the buckets of histograms, `quantile`, which belongs to summaries,
    /// or `otel_metric_overflow`, which marks the series of all label sets beyond a limit.
    public static let reservedLabelName = Code(
      "the label is one that the exposition itself writes; rename it")
    /// A label's name occurs twice.
    public static let duplicateLabelName = Code("the label stands twice; remove one")
    /// The buckets are empty, too many, not finite or not ascending.
    public static let invalidBuckets = Code(
      "buckets must be 1 to \(HistogramBuckets.maximumCount) finite bounds in ascending order")
    /// The name is registered with another type.
    public static let conflictingType = Code("already registered with another type; choose another name")
    /// The name is registered with another help text or unit.
    public static let conflictingDescription = Code(
      "already registered with another help text or unit; make them the same")
    /// The name is registered with other buckets.
    public static let conflictingBuckets = Code("already registered with other buckets; make them the same")
    /// The name is registered with another type of label key, or by a collector or a callback.
    public static let conflictingLabels = Code(
      "already registered with another type of label key; use the same everywhere")
    /// The name, or a name derived from it (`_count` of a histogram), belongs to another metric.
    public static let nameTaken = Code(
      "the name or one derived from it belongs to another metric; choose another name")
  }
}
