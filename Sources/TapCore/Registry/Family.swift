import Synchronization

/// The series of one metric, distinguished by labels. A look-up holds a lock for one dictionary access: keep
/// the instrument in a hot path. Any thread may use it.
///
///     let jobs = try registry.counter("jobs_total", help: "Jobs done.", by: JobLabels.self)
///     jobs[JobLabels(kind: "email")].increment()
public final class Family<Key: Hashable & Sendable, Element: AnyObject & Sendable>: Sendable {
  let descriptor: FamilyDescriptor
  let buckets: HistogramBuckets?
  private let render: @Sendable (Key) -> RenderedLabels
  private let table: Mutex<SeriesTable<Key, Element>>

  init(
    descriptor: FamilyDescriptor, configuration: SeriesConfiguration, buckets: HistogramBuckets?,
    render: @escaping @Sendable (Key) -> RenderedLabels, make: @escaping @Sendable (DroppedValues) -> Element
  ) {
    (self.descriptor, self.buckets, self.render) = (descriptor, buckets, render)
    let column = SeriesColumn(descriptor: descriptor)
    table = Mutex(SeriesTable([column], configuration) { make(column.dropped) })
  }

  /// The instrument of a label set, made on first use. If the family is full, that of the overflow series
  /// (``SeriesConfiguration/limit``).
  public subscript(key: Key) -> Element {
    if let known = table.withLock({ $0.row(of: key) }) { return known }
    // Outside the lock: the app's code reads the values.
    let labels = render(key)
    return table.withLock { $0.row(of: key, labels: labels) } ?? self[key]
  }

  /// Adds the instrument of a label set. `false` if it has one.
  func add(_ instrument: Element, for key: Key) -> Bool {
    let labels = render(key)
    return table.withLock { $0.row(of: key, labels: labels, new: instrument) } === instrument
  }

  /// Removes the series of a label set, from the next scrape on. Returns whether it existed. An instrument
  /// that the app has kept goes on recording unseen.
  @discardableResult public func remove(_ key: Key) -> Bool { remove(render(key)) }

  func remove(_ labels: RenderedLabels) -> Bool { table.withLock { $0.remove(labels) } }
}

extension Family: MetricSource where Element: SeriesRow {
  var descriptors: [FamilyDescriptor] { [descriptor] }

  func gather(at now: Instant) -> [GatheredFamily] {
    table.withLock { $0.gather(at: now) }
  }
}

/// The limit and the expiry of a family's series.
public struct SeriesConfiguration: Sendable {
  /// The maximum number of series. Further label sets share one series, whose only label is
  /// `otel_metric_overflow="true"`; each look-up of such a set counts in `session_tap_series_overflow_total`.
  /// With 0 or less, all do.
  public var limit: Int

  /// How long an idle series stays; `nil`, the default, keeps it forever. A scrape removes the series in
  /// which nothing has been recorded for so long, unless the app holds its instrument. With zero or less, a
  /// series is exposed only by the first scrape after its last record.
  public var idleExpiry: Duration?

  /// 2,000 series, the default of the OpenTelemetry metrics SDK, without expiry.
  public init(limit: Int = 2_000, idleExpiry: Duration? = nil) {
    (self.limit, self.idleExpiry) = (limit, idleExpiry)
  }
}
