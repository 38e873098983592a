import SessionTap
import TestSupport

/// What a trial makes its tap of.
struct ExtremeSetup: Sendable {
  static let logFile = "requests.jsonl"

  var configuration = Tap.Configuration(environment: [:])
  /// Whether the tap may refuse to start.
  var mayRefuse = true
  /// How many requests the metrics must show at the end, or `nil` where that is what the trial changes.
  var requests: Int? = 1

  init() {
    configuration.endpoint = Endpoint.Configuration(address: .loopback(port: 0))
    configuration.log = .file(Self.logFile)
    (configuration.servesLog, configuration.isQuiet) = (true, true)
    configuration.shutdownTimeout = .seconds(60)
    configuration.logging.recentLineLimit = 10
    configuration.logging.redaction.allowedRequestHeaders = ["key"]
    configuration.logging.redaction.allowedResponseHeaders = ["key"]
  }
}

/// A tap from its start to its shutdown. A setting of the tap has a trial for each value. Values that are
/// only given to a running tap share one.
struct ExtremeTrial: Sendable {
  struct Step: Sendable {
    let value: String
    let run: @Sendable (RunningExtreme) async throws -> Void
  }

  /// The setting as it stands in Tests/PublicAPI, or how it begins there: `RequestLog.Configuration.fields`,
  /// `HistogramBuckets.exponential`.
  let setting: String
  let prepare: @Sendable (inout ExtremeSetup) throws -> Void
  let steps: [Step]

  static let all = [
    tap, sessions, metrics, inbound, outbound, families, instruments, collected, log, observations, endpoint,
    pushes,
  ].flatMap { $0 }

  /// Rows one after another, each of them a list of trials.
  @resultBuilder enum Table {
    static func buildBlock(_ rows: [ExtremeTrial]...) -> [ExtremeTrial] { rows.flatMap { $0 } }
    static func buildArray(_ rows: [[ExtremeTrial]]) -> [ExtremeTrial] { rows.flatMap { $0 } }
  }

  /// At home three of the values: both ends, and one between them.
  private static func chosen<Value>(_ values: NamedValues<Value>) -> NamedValues<Value> {
    if Extent.isExtensive || values.count <= 3 { return values }
    return [values[0], values[values.count / 2], values[values.count - 1]]
  }

  /// One setting, at each of these values, of the tap.
  static func start<Value: Sendable>(
    _ setting: String, at values: NamedValues<Value>,
    _ change: @escaping @Sendable (inout ExtremeSetup, Value) throws -> Void
  ) -> [Self] {
    chosen(values).map { name, value in
      ExtremeTrial(
        setting: setting, prepare: { try change(&$0, value) }, steps: [Step(value: name) { _ in }])
    }
  }

  /// One parameter, at each of these values, while a tap runs.
  ///
  /// - Parameter requests: How many each of them makes.
  static func use<Value: Sendable>(
    _ setting: String, at values: NamedValues<Value>, requests: Int = 0,
    _ use: @escaping @Sendable (RunningExtreme, Value) async throws -> Void
  ) -> [Self] {
    let steps = chosen(values).map { name, value in Step(value: name) { try await use($0, value) } }
    return [
      ExtremeTrial(setting: setting, prepare: { $0.requests = 1 + requests * steps.count }, steps: steps)
    ]
  }

  /// The same at all extremes of the type.
  static func use<Value: Extremal>(
    _ setting: String, requests: Int = 0,
    _ use: @escaping @Sendable (RunningExtreme, Value) async throws -> Void
  ) -> [Self] {
    Self.use(setting, at: Value.extremes, requests: requests, use)
  }

  /// Properties of a type, each at all extremes of its own type.
  static func properties<Owner, each Value: Extremal>(
    of type: Owner.Type, _ properties: repeat (any WritableKeyPath<Owner, each Value> & Sendable),
    trial: (_ setting: String, NamedValues<@Sendable (inout Owner) -> Void>) -> [Self]
  ) -> [Self] {
    // `TapLog.RequestLog.Configuration` and `\Configuration.fields`.
    let owner = String(reflecting: type).split(separator: ".").dropFirst().joined(separator: ".")
    var trials: [Self] = []
    func add<OneValue: Extremal>(_ property: any WritableKeyPath<Owner, OneValue> & Sendable) {
      let name = "\(property)".split(separator: ".").last ?? ""
      trials += trial(
        "\(owner).\(name)", OneValue.extremes.map { name, value in (name, { $0[keyPath: property] = value }) }
      )
    }
    repeat add(each properties)
    return trials
  }

  /// Properties of a part of the tap's configuration. It takes the nearest value that works.
  static func change<Owner, each Value: Extremal>(
    _ owner: any WritableKeyPath<Tap.Configuration, Owner> & Sendable,
    _ settings: repeat (any WritableKeyPath<Owner, each Value> & Sendable)
  ) -> [Self] {
    properties(of: Owner.self, repeat each settings) { setting, changes in
      start(setting, at: changes) { setup, change in
        setup.mayRefuse = false
        change(&setup.configuration[keyPath: owner])
      }
    }
  }
}
