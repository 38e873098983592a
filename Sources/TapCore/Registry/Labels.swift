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

/// Label names and values known only at run time: `["kind": "email", "queue": "slow"]`.
///
/// Two label sets with the same pairs in a different order are equal.
public struct Labels: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  /// Name and value pairs, by name.
  let pairs: [Pair]

  /// No label at all.
  public static let none = Labels([])

  /// Makes a label set. Names are checked where the set is used, by ``Registry``.
  public init(_ pairs: some Sequence<(String, String)>) {
    self.pairs = pairs.map { Pair(name: $0.0, value: $0.1) }.sorted { $0.name < $1.name }
  }

  /// Makes a label set from a dictionary.
  public init(_ dictionary: [String: String]) {
    self.init(dictionary.map { ($0.key, $0.value) })
  }

  /// Makes a label set from a literal such as `["kind": "email"]`. A name that stands twice is an error of
  /// the registry's, not a crash.
  public init(dictionaryLiteral elements: (String, String)...) {
    self.init(elements)
  }

  struct Pair: Sendable, Hashable {
    var name: String
    var value: String
  }
}

/// The rules for names (Prometheus data model, "Metric names and labels").
package enum MetricName {
  /// `[a-zA-Z_:][a-zA-Z0-9_:]*`
  static func isValid(_ name: String) -> Bool {
    matches(name) { isLetter($0) || $0 == UInt8(ascii: ":") }
  }

  /// `[a-zA-Z_][a-zA-Z0-9_]*`, without the two leading underscores that Prometheus keeps for itself.
  package static func isValidLabel(_ name: String) -> Bool {
    matches(name, isLetter) && !name.hasPrefix("__")
  }

  private static func matches(_ name: String, _ isHead: (UInt8) -> Bool) -> Bool {
    guard let first = name.utf8.first, isHead(first) else { return false }
    return name.utf8.dropFirst().allSatisfy {
      isHead($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
    }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }
}
