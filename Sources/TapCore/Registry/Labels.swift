/// The typed key of a labelled family: a small value whose fields become labels.
///
///     struct JobLabels: LabelSet {
///       var kind: String
///       var queue: String?
///
///       static let labels: [Label<JobLabels>] = [Label("kind", \.kind), Label("queue", \.queue)]
///     }
///
/// The names are checked once, when the family is registered. The values are rendered once, when a series is
/// made. A value that is `nil` or empty omits its label, because Prometheus treats an empty label as absent.
///
/// A family compares and hashes keys under its lock: `==` and `hash(into:)` must not use the family, and must
/// be quick. Those that the compiler makes are.
public protocol LabelSet: Hashable, Sendable {
  /// The labels of the family, in any order. Read once, at registration.
  static var labels: [Label<Self>] { get }
}

/// One label of a ``LabelSet``: its name, and how to read its value from a key.
public struct Label<Key>: Sendable {
  /// The name: `[a-zA-Z_][a-zA-Z0-9_]*`, without two underscores at the beginning, and none of
  /// ``RegistryError/Code/reservedLabelName``.
  public let name: String
  /// The value as text, or `nil` where the label does not apply.
  let value: @Sendable (Key) -> String?

  /// Makes a label.
  ///
  /// - Parameters:
  ///   - name: the name; it is checked when the family is registered.
  ///   - value: reads the value from a key, such as `\.queue`. Called once for each new series, on the thread
  ///     that asks for it. Values are cut at 256 bytes. The label is omitted if its value is `nil`.
  public init<Value: CustomStringConvertible & Sendable>(
    _ name: String, _ value: @escaping @Sendable (Key) -> Value?
  ) {
    self.name = name
    self.value = { value($0)?.description }
  }
}

/// Label names and values that are known only at run time: `["kind": "email", "queue": "slow"]`.
///
/// Two label sets with the same pairs in a different order are equal.
public struct Labels: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  /// Name and value pairs, by name.
  let pairs: [Pair]

  /// No labels.
  public static let none = Labels([])

  /// Makes a label set. ``Registry`` checks the names when the set is used.
  public init(_ pairs: some Sequence<(String, String)>) {
    self.pairs = pairs.map { Pair(name: $0.0, value: $0.1) }.sorted { $0.name < $1.name }
  }

  /// Makes a label set from a dictionary.
  public init(_ dictionary: [String: String]) { self.init(dictionary.map { ($0.key, $0.value) }) }

  /// Makes a label set from a literal such as `["kind": "email"]`. The registry refuses a name that occurs
  /// twice.
  public init(dictionaryLiteral elements: (String, String)...) { self.init(elements) }

  struct Pair: Sendable, Hashable {
    var name: String
    var value: String
  }
}
