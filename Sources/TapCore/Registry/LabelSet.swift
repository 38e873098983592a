/// The typed key of a labelled family: a small value whose fields become labels.
///
///     struct JobLabels: LabelSet {
///       var kind: String
///       var queue: String?
///
///       static let labels: [Label<JobLabels>] = [Label("kind", \.kind), Label("queue", \.queue)]
///     }
///
/// The names are checked once, when the family is registered; the values are rendered once, when a series is
/// made. A value that is `nil` or empty leaves its label out, because Prometheus takes an empty label for an
/// absent one.
public protocol LabelSet: Hashable, Sendable {
  /// The labels of the family, in any order. Read once, at registration.
  static var labels: [Label<Self>] { get }
}

/// One label of a ``LabelSet``: its name, and how its value is read from a key.
public struct Label<Key>: Sendable {
  /// The name, `[a-zA-Z_][a-zA-Z0-9_]*`, not `le` and not beginning with two underscores.
  public let name: String
  /// The value as text, or `nil` where the label does not apply.
  let value: @Sendable (Key) -> String?

  /// A label whose value always applies.
  ///
  /// - Parameters:
  ///   - name: the name; it is checked when the family is registered.
  ///   - value: reads the value from a key, such as `\.queue`. Called once for each new series, on the thread that
  ///     asks for it. What is longer than 256 bytes is cut.
  public init<Value: CustomStringConvertible & Sendable>(
    _ name: String, _ value: @escaping @Sendable (Key) -> Value
  ) {
    self.name = name
    self.value = { value($0).description }
  }

  /// A label that is left out where the value is `nil`.
  ///
  /// - Parameters:
  ///   - name: the name; it is checked when the family is registered.
  ///   - value: reads the value from a key. Called once for each new series, on the thread that asks for it. What is
  ///     longer than 256 bytes is cut.
  public init<Value: CustomStringConvertible & Sendable>(
    _ name: String, _ value: @escaping @Sendable (Key) -> Value?
  ) {
    self.name = name
    self.value = { value($0)?.description }
  }
}
