public import CoreMetrics
public import SessionTap
import Synchronization

/// Records swift-metrics' metrics in a tap's registry, so they appear at `/metrics` beside those of the
/// requests.
///
///     MetricsSystem.bootstrap(TapMetricsFactory(tap))
///
/// | swift-metrics | Prometheus | with ``Names/asGiven`` |
/// |---|---|---|
/// | `Counter(label: "jobs.done")`, `FloatingPointCounter` | counter `jobs_done_total` | `jobs_done` |
/// | `Meter(label: "pool.size")`, `Gauge`, `Recorder` without `aggregate` | gauge `pool_size` | `pool_size` |
/// | `Recorder(label: "batch.bytes")` | histogram `batch_bytes` | `batch_bytes` |
/// | `Timer(label: "db.query")`, in seconds | histogram `db_query_seconds` | `db_query` |
///
/// Other characters become `_`, and dimensions become labels. The same name and dimensions are one series,
/// until all its handlers are destroyed. A metric whose name is taken, or that exceeds a limit, records
/// nothing and is counted in `swift_metrics_refused_total{metric="its_name"}`; the tap's log says why, once
/// for each name.
public final class TapMetricsFactory: MetricsFactory {
  /// How names of swift-metrics become names of Prometheus.
  public enum Names: Sendable {
    /// As Prometheus and OpenMetrics have them: counters end in `_total`, timers in `_seconds`.
    case conventional
    /// As swift-prometheus has them, so that boards and alerts keep their queries: what a name cannot have
    /// becomes `_`, one for each character, and nothing is added.
    case asGiven
  }

  private let registry: Registry
  private let log: RequestLog?
  private let names: Names
  /// The number of handlers of each series.
  private let entries = Mutex<[SeriesID: (series: Series, uses: Int)]>([:])
  private static let limit = 10_000  // Entries: the registry bounds the series of one name.
  /// The names that the log has explained.
  private let refused = Mutex<Set<String>>([])
  private static let refusedLimit = 1_000

  /// Makes a factory.
  ///
  /// - Parameters:
  ///   - tap: Its registry has the metrics, and its log says which record nothing.
  ///   - names: What the metrics are called.
  public convenience init(_ tap: Tap, names: Names = .conventional) {
    self.init(registry: tap.registry, log: tap.requestLog, names: names)
  }

  /// Makes a factory without a tap.
  ///
  /// - Parameters:
  ///   - registry: Where the metrics are recorded.
  ///   - log: Says which metrics record nothing.
  ///   - names: What the metrics are called.
  public init(registry: Registry, log: RequestLog? = nil, names: Names = .conventional) {
    (self.registry, self.log, self.names) = (registry, log, names)
  }

  /// Makes a counter, `NAME_total`.
  public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    series(.counter, label, dimensions) ?? NOOPMetricsHandler.instance
  }

  /// Makes a counter, `NAME_total`: the same one as ``makeCounter(label:dimensions:)`` makes for that name.
  public func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    series(.counter, label, dimensions) ?? NOOPMetricsHandler.instance
  }

  /// Makes a gauge.
  public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    series(.gauge, label, dimensions) ?? NOOPMetricsHandler.instance
  }

  /// Makes a histogram, or a gauge if `aggregate` is `false`.
  public func makeRecorder(
    label: String, dimensions: [(String, String)], aggregate: Bool
  ) -> any RecorderHandler {
    series(aggregate ? .recorder : .gauge, label, dimensions) ?? NOOPMetricsHandler.instance
  }

  /// Makes a histogram, `NAME_seconds`.
  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    series(.timer, label, dimensions) ?? NOOPMetricsHandler.instance
  }

  /// Removes the series if this was its last handler.
  public func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }
  /// Removes the series if this was its last handler.
  public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { destroy(handler) }
  /// Removes the series if this was its last handler.
  public func destroyMeter(_ handler: any MeterHandler) { destroy(handler) }
  /// Removes the series if this was its last handler.
  public func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }
  /// Removes the series if this was its last handler.
  public func destroyTimer(_ handler: any TimerHandler) { destroy(handler) }

  private func series(_ kind: SeriesKind, _ label: String, _ dimensions: [(String, String)]) -> Series? {
    let id = SeriesID(kind, label, dimensions, names)
    var refusal = ""
    let made = entries.withLock { entries -> Series? in
      if let entry = entries[id] {
        entries[id]?.uses += 1
        return entry.series
      }
      guard entries.count < Self.limit else {
        refusal = "metric '\(id.name)': swift-metrics has \(Self.limit) series already"
        return nil
      }
      do throws(RegistryError) {
        let series = try Series(id, in: registry)
        entries[id] = (series, 1)
        return series
      } catch {
        refusal = error.description
        return nil
      }
    }
    if made == nil { refuse(id.name, refusal) }
    return made
  }

  private func refuse(_ name: String, _ reason: String) {
    let help = "Handlers of swift-metrics that record nothing."
    try? registry.counter("swift_metrics_refused_total", help: help, labels: ["metric": name]).increment()
    let isNew = refused.withLock { $0.count < Self.refusedLimit && $0.insert(name).inserted }
    if isNew {
      log?.log(.warn, "an instrument of swift-metrics records nothing: \(reason)", ["metric": .string(name)])
    }
  }

  private func destroy(_ handler: AnyObject) {
    guard let series = handler as? Series else { return }
    entries.withLock { entries in
      guard let entry = entries[series.id], entry.series === series else { return }
      entries[series.id] = entry.uses > 1 ? (series, entry.uses - 1) : nil
      // Under the lock: a handler of the same name that is made next gets a new series, not the removed one.
      if entry.uses == 1 { registry.removeSeries(of: series.id.name, labels: series.id.labels) }
    }
  }
}

/// The identity of a series. Its texts are cut, because nothing bounds what a library gives.
private struct SeriesID: Hashable {
  let kind: SeriesKind
  let name: String
  let labels: Labels
  let names: TapMetricsFactory.Names
  init(
    _ kind: SeriesKind, _ label: String, _ dimensions: [(String, String)], _ names: TapMetricsFactory.Names
  ) {
    (self.kind, self.names) = (kind, names)
    switch names {
    case .conventional:
      let name = Self.name(label)
      let suffix = kind == .counter ? "_total" : kind == .timer ? "_seconds" : ""
      self.name = name.hasSuffix(suffix) ? name : name + suffix
    case .asGiven: name = Self.givenName(label)
    }
    // Keys that become one label join their values (OpenTelemetry, "Prometheus and OpenMetrics
    // Compatibility").
    let reserved = ["le", "quantile", "otel_metric_overflow"]
    let pairs = dimensions.prefix(32).map { (reserved.contains($0) ? "_\($0)" : Self.name($0), $1) }
    labels = Labels(Dictionary(pairs) { "\($0);\($1)" }.mapValues { String($0.unicodeScalars.prefix(256)) })
  }

  private static func name(_ text: String) -> String {
    let name = text.unicodeScalars.prefix(256).reduce(into: "") { name, scalar in
      let isAllowed = scalar.isASCII && (Character(scalar).isLetter || Character(scalar).isNumber)
      if isAllowed { name.unicodeScalars.append(scalar) } else if name.last != "_" { name.append("_") }
    }
    return name.first?.isNumber ?? true ? "_" + name : name
  }

  /// Each character that a name cannot have becomes `_`, a digit at its beginning too.
  private static func givenName(_ text: String) -> String {
    let name = text.prefix(256).reduce(into: "") { name, character in
      let isLetter = character.isASCII && (character.isLetter || "_:".contains(character))
      let isDigit = character.isASCII && character.isNumber && !name.isEmpty
      name.append(isLetter || isDigit ? character : "_")
    }
    return name.isEmpty ? "_" : name
  }

  func instrument(in registry: Registry) throws(RegistryError) -> Handle {
    let help = "From swift-metrics."
    switch kind {
    case .counter where names == .asGiven:
      return .counter(try registry.counter(legacyName: name, help: help, labels: labels))
    case .counter: return .counter(try registry.counter(name, help: help, labels: labels))
    case .gauge: return .gauge(try registry.gauge(name, help: help, labels: labels))
    case .timer:
      let unit = names == .asGiven ? nil : "seconds"
      return .histogram(try registry.histogram(name, help: help, unit: unit, labels: labels))
    case .recorder:  // Its unit is unknown: classic buckets up to 268 million.
      let buckets = HistogramBuckets.exponential(from: 1, factor: 4, count: 15)
      return .histogram(try registry.histogram(name, help: help, buckets: buckets, labels: labels))
    }
  }
}

private enum SeriesKind { case counter, gauge, recorder, timer }
private enum Handle { case counter(Registry.Counter), gauge(Registry.Gauge), histogram(Registry.Histogram) }
private typealias AnyCounterHandler = CounterHandler & FloatingPointCounterHandler

/// A series, as a handler of each kind.
private final class Series: AnyCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
  let id: SeriesID
  private let registry: Registry
  private let instrument: Mutex<Handle>
  init(_ id: SeriesID, in registry: Registry) throws(RegistryError) {
    (self.id, self.registry) = (id, registry)
    instrument = Mutex(try id.instrument(in: registry))
  }

  func increment(by amount: Double) {
    switch instrument.withLock({ $0 }) {
    case .counter(let counter): counter.increment(by: amount)
    case .gauge(let gauge): gauge.increment(by: amount)
    case .histogram: break
    }
  }
  func increment(by amount: Int64) { increment(by: Double(amount)) }
  func decrement(by amount: Double) { increment(by: -amount) }
  func record(_ value: Double) {
    switch instrument.withLock({ $0 }) {
    case .gauge(let gauge): gauge.set(value)
    case .histogram(let histogram): histogram.record(value)
    case .counter: break
    }
  }
  func record(_ value: Int64) { record(Double(value)) }
  func set(_ value: Int64) { record(Double(value)) }
  func set(_ value: Double) { record(value) }
  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
  /// A new series in place of the old: its creation is the time of the reset (OpenMetrics 1.0, "Counter").
  func reset() {
    instrument.withLock { instrument in
      registry.removeSeries(of: id.name, labels: id.labels)
      if let new = try? id.instrument(in: registry) { instrument = new }
    }
  }
}
