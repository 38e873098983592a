public import CoreMetrics
import Synchronization
public import TapCore

/// Records swift-metrics' metrics in a tap's registry, so they appear at `/metrics` beside those of the
/// requests.
///
///     MetricsSystem.bootstrap(TapMetricsFactory(registry: tap.registry))
///
/// | swift-metrics | Prometheus |
/// |---|---|
/// | `Counter(label: "jobs.done")`, `FloatingPointCounter` | counter `jobs_done_total` |
/// | `Meter(label: "pool.size")`, `Gauge`, `Recorder` that does not aggregate | gauge `pool_size` |
/// | `Recorder(label: "batch.bytes")` | histogram `batch_bytes` |
/// | `Timer(label: "db.query")` | histogram `db_query_seconds`, whatever the preferred unit |
///
/// Other characters become `_`, and dimensions become labels. The same name and dimensions are one series,
/// until all its handlers are destroyed. A metric whose name is taken, or that exceeds a limit, records
/// nothing and is counted in `swift_metrics_refused_total{metric="its_name"}`.
public final class TapMetricsFactory: MetricsFactory {
  private let registry: Registry
  /// How many handlers were made of each series.
  private let entries = Mutex<[SeriesID: (series: Series, uses: Int)]>([:])
  private static let limit = 10_000  // Entries: the registry bounds the series of one name.

  /// Makes a factory.
  ///
  /// - Parameter registry: Where the metrics are recorded, such as `tap.registry`.
  public init(registry: Registry) { self.registry = registry }

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
    let id = SeriesID(kind, label, dimensions)
    let series = entries.withLock { entries -> Series? in
      if entries[id] == nil, entries.count < Self.limit { entries[id] = try? (Series(id, in: registry), 0) }
      entries[id]?.uses += 1
      return entries[id]?.series
    }
    guard series == nil else { return series }
    let help = "Handlers of swift-metrics that record nothing."
    try? registry.counter("swift_metrics_refused_total", help: help, labels: ["metric": id.name]).increment()
    return nil
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
  init(_ kind: SeriesKind, _ label: String, _ dimensions: [(String, String)]) {
    let name = Self.name(label)
    let suffix = kind == .counter ? "_total" : kind == .timer ? "_seconds" : ""
    (self.kind, self.name) = (kind, name.hasSuffix(suffix) ? name : name + suffix)
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

  func instrument(in registry: Registry) throws(RegistryError) -> Handle {
    let help = "From swift-metrics."
    switch kind {
    case .counter: return .counter(try registry.counter(name, help: help, labels: labels))
    case .gauge: return .gauge(try registry.gauge(name, help: help, labels: labels))
    case .timer: return .histogram(try registry.histogram(name, help: help, unit: "seconds", labels: labels))
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
