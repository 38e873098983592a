import TestSupport

/// Values, each with a name that a test can print: the text of some of them is long, and some have none.
typealias NamedValues<Value> = [(name: String, value: Value)]

/// A type with values at its ends, and with such as a setting of the type rarely expects.
protocol Extremal: Sendable { static var extremes: NamedValues<Self> { get } }

extension Extremal {
  /// The same as `values.map { ($0.name, $0.value) }` for a type whose values describe themselves.
  fileprivate static func described(_ values: [Self]) -> NamedValues<Self> { values.map { ("\($0)", $0) } }
}

/// How many elements, or bytes of a text, are many: more than 16 bits count, where tests are extensive.
let manyElements = Extent.of(1_000, extensive: 66_000)

extension Int: Extremal { static let extremes = described([.min, -1, 0, 1, 1 << 46, .max]) }

extension Int32: Extremal { static let extremes = described([.min, -1, .max]) }

extension Int64: Extremal {
  static let extremes = Int.extremes.map { (name: $0.name, value: Int64($0.value)) }
}

extension Double: Extremal {
  /// 2^-128 is the least number that a native histogram tells from zero.
  static let extremes = described([
    .nan, -.infinity, -.greatestFiniteMagnitude, -1, -.leastNonzeroMagnitude, -0.0, 0, .leastNonzeroMagnitude,
    0x1p-128, 0x1p-128.nextUp, 1.0.nextDown, 1, .greatestFiniteMagnitude, .infinity,
  ])
}

extension Duration: Extremal {
  /// A duration has 128 bits. Its seconds may be more than 64 bits tell, and then it has no description.
  static let extremes: NamedValues<Duration> = [
    ("the least", Duration(attoseconds: .min)), ("Int64.min s", .seconds(Int64.min)), ("-1 s", .seconds(-1)),
    ("-1 ns", .nanoseconds(-1)), ("0 s", .zero), ("1 as", Duration(attoseconds: 1)),
    ("1 ns", .nanoseconds(1)), ("a day", .seconds(86_400)), ("Int64.max ns", .nanoseconds(Int64.max)),
    ("Int64.max s", .seconds(Int64.max)), ("the greatest", Duration(attoseconds: .max)),
  ]
}

extension String: Extremal {
  static let extremes: NamedValues<String> = [
    ("empty", ""), ("blank", " "), ("NUL", "\0"), ("a NUL inside", "a\0b"), ("a line break", "a\r\nb: c"),
    ("quotes", #""\{}"#), ("U+10FFFF", "\u{10ffff}"), ("long", String(repeating: "m", count: manyElements)),
  ]
}

// Arrays of arrays: the compiler needs six seconds for the same sums with `+`.
private let lists = [
  [("no element", [])], String.extremes.map { ("an element: \($0.name)", [$0.value]) },
  [("many elements", (0..<manyElements).map { "element-\($0)" })],
].flatMap { (part: NamedValues<[String]>) in part }

extension Array: Extremal where Element == String { static var extremes: NamedValues<Self> { lists } }

private let sets = lists.map { (name: $0.name, value: Set($0.value)) }

extension Set: Extremal where Element == String { static var extremes: NamedValues<Self> { sets } }

private let texts = [
  [("no element", [:])], String.extremes.map { ("a key: \($0.name)", [$0.value: "value"]) },
  String.extremes.map { ("a value: \($0.name)", ["key": $0.value]) },
  [("many elements", Dictionary(uniqueKeysWithValues: (0..<manyElements).map { ("key_\($0)", "value") }))],
].flatMap { (part: NamedValues<[String: String]>) in part }

private let manyBytes = String(repeating: "v", count: 8_000)

private let longValues = Dictionary(
  uniqueKeysWithValues: (0..<64).map { ("\($0)", FieldValue.string(manyBytes)) })

private let fields = [
  texts.map { ($0.name, $0.value.mapValues { FieldValue.string($0) }) },
  Double.extremes.map { ("a value: \($0.name)", ["key": FieldValue.double($0.value)]) },
  Int64.extremes.map { ("a value: \($0.name)", ["key": FieldValue.integer($0.value)]) },
  [("a key of the log's own", ["timestamp": "never"]), ("64 long values", longValues)],
].flatMap { (part: NamedValues<[String: FieldValue]>) in part }

/// What the values of a dictionary are, as far as it is one that a setting takes.
protocol ExtremalField: Sendable { static var dictionaries: NamedValues<[String: Self]> { get } }

extension String: ExtremalField { static var dictionaries: NamedValues<[String: String]> { texts } }

extension FieldValue: ExtremalField {
  static var dictionaries: NamedValues<[String: FieldValue]> { fields }
}

extension Dictionary: Extremal where Key == String, Value: ExtremalField {
  static var extremes: NamedValues<[String: Value]> { Value.dictionaries }
}

extension Optional: Extremal where Wrapped: Extremal {
  static var extremes: NamedValues<Wrapped?> {
    [("nil", nil)] + Wrapped.extremes.map { ($0.name, $0.value) }
  }
}
