import Synchronization

/// The metrics of the requests of one direction.
package final class RequestMetrics: Sendable {
  let descriptors: [FamilyDescriptor]
  private let store: Mutex<RequestStore>

  package init(
    _ direction: RequestDirection, _ configuration: RequestConfiguration = .init(),
    exemplars: ExemplarPolicy = .sampled, historyStart: Instant? = nil
  ) throws(RegistryError) {
    let columns = try RequestColumns(direction, configuration)
    descriptors = columns.all.map(\.column.descriptor)
    store = Mutex(
      RequestStore(
        direction, columns, configuration.series, exemplars: exemplars,
        historyStart: historyStart))
  }

  /// Counts a request as active.
  package func begin(_ request: borrowing RequestDescription) -> RequestSeries {
    store.withLock { $0.begin(request) }
  }

  /// Records an ended request, whose begin gave these series.
  package func end(_ observation: borrowing RequestObservation, _ series: RequestSeries) {
    store.withLock { $0.end(observation, series) }
  }

  /// What the last ten minutes added; `nil` if that is not kept.
  package func history(at now: Instant) -> RequestHistory.Window? { store.withLock { $0.history(at: now) } }
}

extension RequestMetrics: MetricSource {
  func gather(at now: Instant) -> [GatheredFamily] { store.withLock { $0.gather(at: now) } }
}
