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
