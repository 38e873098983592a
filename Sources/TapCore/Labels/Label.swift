/// One label of a ``LabelSet``: its name, and how its value is read from a key.
public struct Label<Key>: Sendable {
  /// The name, `[a-zA-Z_][a-zA-Z0-9_]*`, not `le` and not beginning with two underscores.
  public let name: String
  /// The value as text, or `nil` where the label does not apply.
  let value: @Sendable (Key) -> String?

  /// A label whose value always applies.
  public init<Value: CustomStringConvertible & Sendable>(
    _ name: String, _ value: @escaping @Sendable (Key) -> Value
  ) {
    self.name = name
    self.value = { value($0).description }
  }

  /// A label that is left out where the value is `nil`.
  public init<Value: CustomStringConvertible & Sendable>(
    _ name: String, _ value: @escaping @Sendable (Key) -> Value?
  ) {
    self.name = name
    self.value = { value($0)?.description }
  }
}
