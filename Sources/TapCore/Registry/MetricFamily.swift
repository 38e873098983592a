/// A family whose samples are plain values.
public struct MetricFamily: Sendable {
  /// The name, with `_total` for a counter and `_info` for an info.
  public var name: String
  /// One line that says what the metric is.
  public var help: String
  /// A counter, a gauge or an info.
  public var kind: Kind
  /// The unit at the end of the name, if any. An info has none.
  public var unit: String?
  /// The samples.
  public var samples: [Sample]

  /// Makes a family. The registry checks its names when its ``Collector`` is registered.
  public init(name: String, help: String, kind: Kind, unit: String? = nil, samples: [Sample]) {
    (self.name, self.help, self.kind, self.unit, self.samples) = (name, help, kind, unit, samples)
  }

  /// The kinds of families with one value per sample.
  public enum Kind: Sendable {
    /// Goes up only; its name ends in `_total`.
    case counter
    /// Goes up and down.
    case gauge
    /// A constant 1 whose labels carry the information; its name ends in `_info`.
    case info
  }

  /// One value.
  public struct Sample: Sendable {
    /// The labels that distinguish the samples of a family.
    public var labels: Labels
    /// The value.
    public var value: Double

    /// Makes a sample.
    public init(labels: Labels = .none, value: Double) { (self.labels, self.value) = (labels, value) }
  }
}
