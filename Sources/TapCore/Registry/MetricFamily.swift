/// A family whose samples are plain values.
public struct MetricFamily: Sendable {
  /// The name, with `_total` for a counter and `_info` for an info.
  public var name: String
  /// One line that says what the metric is.
  public var help: String
  /// A counter, a gauge or an info.
  public var kind: Kind
  /// The unit that the name ends in, if any.
  public var unit: String?
  /// The samples.
  public var samples: [Sample]

  /// Makes a family. Its names are checked where a ``Collector`` that gives it is registered.
  public init(name: String, help: String, kind: Kind, unit: String? = nil, samples: [Sample]) {
    self.name = name
    self.help = help
    self.kind = kind
    self.unit = unit
    self.samples = samples
  }

  /// The kinds of family that have one value a sample.
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// Goes up only; its name ends in `_total`.
    case counter
    /// Goes up and down.
    case gauge
    /// A constant 1 whose labels tell something; its name ends in `_info`.
    case info
  }

  /// One value.
  public struct Sample: Sendable, Hashable {
    /// Labels that tell the samples of a family apart.
    public var labels: Labels
    /// The value.
    public var value: Double

    /// Makes a sample.
    public init(labels: Labels = .none, value: Double) {
      self.labels = labels
      self.value = value
    }
  }
}
