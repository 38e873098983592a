import SessionTap

/// One setting at one extreme of its type.
struct Extreme: Sendable {
  /// The setting as it stands in Tests/PublicAPI: `RequestLog.Configuration.queueByteLimit`,
  /// `HistogramBuckets.linear(from:width:count:)`.
  let setting: String
  let value: String
  /// Makes the trial of it.
  let apply: @Sendable (inout ExtremeTrial) throws -> Void

  /// One setting at each of these values.
  static func each<Value: Sendable>(
    _ setting: String, _ values: [(name: String, value: Value)],
    _ apply: @escaping @Sendable (inout ExtremeTrial, Value) throws -> Void
  ) -> [Extreme] {
    values.map { name, value in
      Extreme(setting: setting, value: name) { try apply(&$0, value) }
    }
  }

  /// One setting at each of these values, while the tap runs.
  static func eachWhileRunning<Value: Sendable>(
    _ setting: String, _ values: [(name: String, value: Value)],
    _ use: @escaping @Sendable (ExtremeTrial.Running, Value) async throws -> Void
  ) -> [Extreme] {
    each(setting, values) { trial, value in trial.whileRunning = { try await use($0, value) } }
  }
}

/// The extremes of each type.
enum Extremes {
  typealias Values<Value> = [(name: String, value: Value)]

  static let integers: Values<Int> = [
    ("Int.min", .min), ("-1", -1), ("0", 0), ("1 << 46", 1 << 46), ("Int.max", .max),
  ]

  static let doubles: Values<Double> = [
    ("nan", .nan), ("infinity", .infinity), ("-infinity", -.infinity), ("-1", -1), ("-0", -0.0), ("0", 0),
    ("the least above 0", .leastNonzeroMagnitude), ("the greatest", .greatestFiniteMagnitude),
  ]

  /// A `Duration` has 128 bits: its seconds may be more than 64 bits can tell.
  static let durations: Values<Duration> = [
    ("Int64.min s", .seconds(Int64.min)), ("18 × Int64.min s", .seconds(Int64.min) * 18),
    ("-1 s", .seconds(-1)), ("0 s", .zero),
    ("1 as", Duration(secondsComponent: 0, attosecondsComponent: 1)), ("Int64.max s", .seconds(Int64.max)),
    ("18 × Int64.max s", .seconds(Int64.max) * 18),
  ]

  static let strings: Values<String> = [
    ("empty", ""), ("blank", " "), ("NUL", "\0"), ("a NUL inside", "a\0b"), ("a line break", "a\r\nb: c"),
    ("quotes", #""\{}"#), ("U+10FFFF", "\u{10ffff}"), ("1 MB", String(repeating: "m", count: 1_000_000)),
  ]

  static let lists: Values<[String]> =
    [("no element", [])] + strings.map { ("an element: \($0.name)", [$0.value]) }
    + [("100,000 elements", (0..<100_000).map { "element-\($0)" })]

  static let sets: Values<Set<String>> = lists.map { ($0.name, Set($0.value)) }

  static let texts: Values<[String: String]> =
    [("no element", [:])] + strings.map { ("a key: \($0.name)", [$0.value: "value"]) }
    + strings.map { ("a value: \($0.name)", ["key": $0.value]) }
    + [("100,000 elements", Dictionary(uniqueKeysWithValues: (0..<100_000).map { ("key_\($0)", "value") }))]

  static let fields: Values<[String: FieldValue]> =
    texts.map { ($0.name, $0.value.mapValues { .string($0) }) }
    + doubles.map { ("a value: \($0.name)", ["key": .double($0.value)]) }
    + [
      ("a value: Int64.min", ["key": .integer(.min)]), ("a value: Int64.max", ["key": .integer(.max)]),
      ("a key of the log's own", ["timestamp": "never"]),
    ]

  static let buckets: Values<[Double]> =
    [("no element", [])] + doubles.map { ("an element: \($0.name)", [$0.value]) }
    + [
      ("falling", [2, 1]), ("equal", [1, 1]), ("only infinities", [.infinity, .infinity]),
      ("257 elements", (0..<257).map { Double($0) }), ("100,000 elements", (0..<100_000).map { Double($0) }),
    ]

  /// The same values, and `nil`.
  static func optional<Value>(_ values: Values<Value>) -> Values<Value?> {
    [("nil", nil)] + values.map { ($0.name, $0.value) }
  }
}

/// The extremes that share a process.
enum ExtremeGroup: String, CaseIterable, Codable, Sendable {
  case tap, requests, inbound, metrics, families, log, logQueries, endpoint, limits, messages, push,
    observations

  var extremes: [Extreme] {
    switch self {
    case .tap: Self.tapExtremes
    case .requests: Self.requestExtremes
    case .inbound: Self.inboundExtremes
    case .metrics: Self.metricsExtremes
    case .families: Self.familyExtremes
    case .log: Self.logExtremes
    case .logQueries: Self.logQueryExtremes
    case .endpoint: Self.endpointExtremes
    case .limits: Self.limitExtremes
    case .messages: Self.messageExtremes
    case .push: Self.pushExtremes
    case .observations: Self.observationExtremes
    }
  }
}
