import Synchronization

/// The series of one metric, distinguished by labels.
///
///     let jobs = try registry.counter("jobs_total", help: "Jobs done.", by: JobLabels.self)
///     jobs[JobLabels(kind: "email")].increment()
///
/// A look-up holds a lock for one dictionary access. Keep the returned instrument in a hot path. May be used
/// from any thread.
public final class Family<Key: Hashable & Sendable, Element: AnyObject & Sendable>: Sendable {
  let descriptor: FamilyDescriptor
  private let dropped = DroppedValues()
  let buckets: HistogramBuckets?
  private let render: @Sendable (Key) -> RenderedLabels
  private let make: @Sendable (DroppedValues) -> Element
  private let table: Mutex<SeriesTable<Key, Element>>

  init(
    descriptor: FamilyDescriptor, options: SeriesOptions, buckets: HistogramBuckets?,
    render: @escaping @Sendable (Key) -> RenderedLabels, make: @escaping @Sendable (DroppedValues) -> Element
  ) {
    self.descriptor = descriptor
    self.buckets = buckets
    self.render = render
    self.make = make
    table = Mutex(SeriesTable(options))
  }

  /// The instrument of a label set, made on first use. If the family is full, that of the overflow series
  /// (``SeriesOptions/limit``).
  public subscript(key: Key) -> Element {
    if let known = table.withLock({ $0.element(for: key) }) { return known }
    // Outside the lock: the app's code reads the values.
    let labels = render(key)
    return table.withLock { $0.element(for: key, labels: labels) { make(dropped) } }
  }

  /// Adds the instrument of a label set. `false` if it has one.
  func add(_ instrument: Element, for key: Key) -> Bool {
    let labels = render(key)
    return table.withLock { $0.element(for: key, labels: labels) { instrument } } === instrument
  }

  /// Removes the series of a label set, from the next scrape on.
  ///
  /// An instrument that the app has kept goes on recording, but is no longer exposed. Asking for the label
  /// set again makes a new series.
  ///
  /// - Returns: whether the series existed.
  @discardableResult
  public func remove(_ key: Key) -> Bool {
    remove(render(key))
  }

  /// Removes all series, from the next scrape on.
  public func removeAll() {
    _ = remove(nil)
  }

  func remove(_ labels: RenderedLabels?) -> Bool {
    table.withLock { $0.remove(labels) }
  }
}

extension Family: MetricSource where Element: Instrument {
  var descriptors: [FamilyDescriptor] { [descriptor] }

  func gather(at now: Instant) -> [GatheredFamily] {
    let (series, count) = table.withLock { table in
      table.expire(at: now, activity: \.activity)
      return (table.sorted(), table.overflowCount)
    }
    // One whose labels are named at run time most often is a single series, for which a 0 would say nothing.
    let overflowCount = Key.self != Labels.self || count > 0 ? count : nil
    return [
      GatheredFamily(descriptor, series, overflowCount: overflowCount, droppedCount: dropped.count) {
        .instrument($0)
      }
    ]
  }
}

/// A counter, a gauge or a histogram, as the registry uses it.
protocol Instrument: AnyObject, Sendable {
  var reading: InstrumentReading { get }
  /// A number that changes with every record.
  var activity: UInt64 { get }
}

/// What a series shows of its instrument.
enum InstrumentReading {
  /// The value, and whether it has been counted since the series was made.
  case number(Double, isSinceCreation: Bool)
  case histogram(Registry.Histogram)
}

/// Counts the values that the instruments of a family drop, exposed as `session_tap_dropped_values_total`.
final class DroppedValues: Sendable {
  private let counter = Atomic<UInt64>(0)

  func increment() {
    counter.wrappingAdd(1, ordering: .relaxed)
  }

  var count: UInt64 { counter.load(ordering: .relaxed) }
}
