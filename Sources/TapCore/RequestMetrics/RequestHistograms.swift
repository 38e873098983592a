import Synchronization

/// The histograms of ended requests and their series, found by a key of the owner's.
final class RequestHistograms<Key: Sendable>: Sendable {
  private let families: RequestFamilies
  private let table: Mutex<RequestSeriesTable<Key>>

  init(_ families: RequestFamilies, _ options: SeriesOptions) {
    self.families = families
    table = Mutex(RequestSeriesTable(options))
  }

  /// Records a request.
  ///
  /// - Parameters:
  ///   - hash: What requests with the same labels have in common.
  ///   - isMeant: Whether a key stands for the labels of the request. Called under the lock.
  ///   - make: Makes the key, which has to have a bound, and its labels, on the first request that has them.
  @inline(__always)
  func record(
    _ request: some EndedRequest, hash: UInt64, where isMeant: (Key) -> Bool,
    make: () -> (key: Key, labels: RenderedLabels)
  ) {
    if let known = table.withLock({ $0.series(hash, where: isMeant) }) {
      known.record(request)
    } else {
      newSeries(hash, make: make).record(request)
    }
  }

  @inline(never)
  private func newSeries(
    _ hash: UInt64, make: () -> (key: Key, labels: RenderedLabels)
  ) -> RequestSeries {
    if let overflow = table.withLock({ $0.overflowIfFull(make: families.makeSeries) }) { return overflow }
    let (key, labels) = make()
    let created = Timestamp.now
    return table.withLock {
      $0.series(for: key, hash: hash, labels: labels, created: created, make: families.makeSeries)
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
