/// The typed key of a labelled family: a small value whose fields become labels.
///
///     struct JobLabels: LabelSet {
///       var kind: String
///       var queue: String?
///
///       static let labels: [Label<JobLabels>] = [Label("kind", \.kind), Label("queue", \.queue)]
///     }
///
/// A value that is `nil` or empty omits its label, because Prometheus treats an empty label as absent. A
/// family compares and hashes keys under its lock: `==` and `hash(into:)` must not use the family, and must
/// be quick.
public protocol LabelSet: Hashable, Sendable {
  /// The labels of the family, in any order. Read once, at registration.
  static var labels: [Label<Self>] { get }
}

/// One label of a ``LabelSet``: its name, and how to read its value from a key.
public struct Label<Key>: Sendable {
  let name: String
  /// The value as text, or `nil` where the label does not apply.
  let value: @Sendable (Key) -> String?

  /// Makes a label, whose value a closure such as `\.queue` reads from a key, once for each new series.
  /// Values are cut at 256 bytes. The name is `[a-zA-Z_][a-zA-Z0-9_]*`, without two underscores at the
  /// beginning, and none of `le`, `quantile` and `otel_metric_overflow`.
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

  package init(_ pairs: some Sequence<(String, String)>) {
    self.pairs = pairs.map { Pair(name: $0.0, value: $0.1) }.sorted { $0.name < $1.name }
  }

  /// Makes a label set from a dictionary. ``Registry`` checks the names when the set is used.
  public init(_ dictionary: [String: String]) { self.init(dictionary.map { ($0.key, $0.value) }) }

  /// Makes a label set from a literal such as `["kind": "email"]`. The registry refuses a name that occurs
  /// twice.
  public init(dictionaryLiteral elements: (String, String)...) { self.init(elements) }

  struct Pair: Sendable, Hashable {
    var name: String
    var value: String
  }
}

/// The labels of one series as every text format writes them: `kind="email",queue="slow"`, by name, escaped.
///
/// Rendered once, when the series is made. Label values are cut at ``maximumValueLength`` bytes, at the
/// boundary of a Unicode scalar; two values that differ only after that are one series.
struct RenderedLabels: Sendable, Hashable, Comparable {
  /// The longest label value, in bytes of UTF-8.
  static let maximumValueLength = 256

  static let overflow = RenderedLabels([Labels.Pair(name: MetricName.overflowLabel, value: "true")])

  let bytes: [UInt8]
  /// Whether a value was cut: its key must then not be kept, because its size has no limit.
  let isCut: Bool

  /// Renders pairs that are sorted by name and whose names are valid.
  init(_ pairs: some Sequence<Labels.Pair>) {
    var bytes: [UInt8] = []
    var isCut = false
    for pair in pairs where !pair.value.isEmpty {
      if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
      bytes += pair.name.utf8
      bytes += "=\"".utf8
      let value = pair.value.prefix(utf8Length: Self.maximumValueLength)
      isCut = isCut || value.utf8.count < pair.value.utf8.count
      bytes.append(escaping: value.utf8)
      bytes.append(UInt8(ascii: "\""))
    }
    (self.bytes, self.isCut) = (bytes, isCut)
  }

  static func == (lhs: RenderedLabels, rhs: RenderedLabels) -> Bool { lhs.bytes == rhs.bytes }

  func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

  /// Orders by label values, the first label first. The closing quote ranks below every character, so that
  /// a value comes before those that it is the beginning of.
  static func < (lhs: RenderedLabels, rhs: RenderedLabels) -> Bool {
    func rank(_ byte: UInt8) -> UInt8 { byte == UInt8(ascii: "\"") ? 0 : byte }
    return lhs.bytes.lexicographicallyPrecedes(rhs.bytes) { rank($0) < rank($1) }
  }

  /// The names and values, no longer escaped: for a format that does not escape.
  var pairs: [(name: [UInt8], value: [UInt8])] {
    var pairs: [(name: [UInt8], value: [UInt8])] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let name = rest.prefix { $0 != UInt8(ascii: "=") }
      rest = rest.dropFirst(name.count + 2)
      var value: [UInt8] = []
      while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
        let escaped = byte == UInt8(ascii: "\\") ? rest.popFirst() : nil
        value.append(escaped == UInt8(ascii: "n") ? UInt8(ascii: "\n") : escaped ?? byte)
      }
      pairs.append((Array(name), value))
      rest = rest.dropFirst()
    }
    return pairs
  }
}

/// The rules for names (Prometheus data model, "Metric names and labels").
package enum MetricName {
  /// `[a-zA-Z_:][a-zA-Z0-9_:]*`
  static func isValid(_ name: String) -> Bool { matches(name) { isLetter($0) || $0 == UInt8(ascii: ":") } }

  /// `[a-zA-Z_][a-zA-Z0-9_]*`, without the two leading underscores that Prometheus keeps for itself.
  package static func isValidLabel(_ name: String) -> Bool {
    matches(name, isLetter) && !name.hasPrefix("__")
  }

  private static func matches(_ name: String, _ isHead: (UInt8) -> Bool) -> Bool {
    guard let first = name.utf8.first, isHead(first) else { return false }
    return name.utf8.dropFirst().allSatisfy { isHead($0) || $0.isASCIIDigit }
  }

  private static func isLetter(_ byte: UInt8) -> Bool { byte.isASCIILetter || byte == UInt8(ascii: "_") }

  /// The label of all series beyond the limit of a family (OpenTelemetry metrics SDK, "Overflow attribute").
  static let overflowLabel = "otel_metric_overflow"

  /// `le` and `quantile` belong to histograms and summaries.
  private static let reserved: Set<String> = ["le", "quantile", overflowLabel]

  /// Throws for the first name that cannot be used.
  static func checkLabels(_ names: [String], metric: String) throws(RegistryError) {
    var seen: Set<String> = []
    for name in names {
      func refuse(_ code: RegistryError.Code) -> RegistryError { .init(code, metric: metric, detail: name) }
      if !isValidLabel(name) { throw refuse(.invalidLabelName) }
      if reserved.contains(name) { throw refuse(.reservedLabelName) }
      if !seen.insert(name).inserted { throw refuse(.duplicateLabelName) }
    }
  }

  /// How labels are rendered, once their names are known to be valid.
  static func renderer(
    of labels: Labels, metric: String
  ) throws(RegistryError) -> @Sendable (Labels) -> RenderedLabels {
    try checkLabels(labels.pairs.map(\.name), metric: metric)
    return { RenderedLabels($0.pairs) }
  }

  /// How keys of a type are rendered, once their names are known to be valid.
  static func renderer<Key: LabelSet>(
    of key: Key.Type, metric: String
  ) throws(RegistryError) -> @Sendable (Key) -> RenderedLabels {
    let labels = Key.labels.sorted { $0.name < $1.name }
    try checkLabels(labels.map(\.name), metric: metric)
    return { key in
      RenderedLabels(
        labels.lazy.compactMap { label in label.value(key).map { Labels.Pair(name: label.name, value: $0) } })
    }
  }
}
