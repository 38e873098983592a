import Synchronization

/// The histograms of ended requests and their series.
final class RequestHistograms<Key: RequestSeriesKey>: Sendable {
  private let families: RequestFamilies
  private let methods: KnownMethods
  private let table: Mutex<RequestSeriesTable<Key>>

  init(_ families: RequestFamilies, methods: KnownMethods, _ options: SeriesOptions) {
    self.families = families
    self.methods = methods
    table = Mutex(RequestSeriesTable(options))
  }

  /// Records a request, whose labels must be within their limits.
  @inline(__always)
  func record(_ request: Key.Request, target: Key.Target, hash: UInt64) {
    if let known = table.withLock({ $0.series(for: request, target: target, hash: hash) }) {
      known.record(request)
    } else {
      newSeries(for: request, target: target, hash: hash).record(request)
    }
  }

  @inline(never)
  private func newSeries(for request: Key.Request, target: Key.Target, hash: UInt64) -> RequestSeries {
    if let overflow = table.withLock({ $0.overflowIfFull { families.makeSeries() } }) { return overflow }
    let key = Key(request, target: target)
    let labels = RenderedLabels(key.pairs(methods))
    let created = Timestamp.now
    return table.withLock {
      $0.series(for: key, hash: hash, labels: labels, created: created) { families.makeSeries() }
    }
  }

  var descriptors: [FamilyDescriptor] { families.descriptors }

  func gather(at now: ContinuousClock.Instant) -> [any GatheredFamily] {
    families.gather(table.withLock { $0.sorted(at: now) })
  }

  var statistics: [FamilyStatistics] {
    families.statistics(overflowCount: table.withLock { $0.overflowCount })
  }
}
