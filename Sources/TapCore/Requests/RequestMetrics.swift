import Synchronization

/// The metrics of the requests of one direction.
package final class RequestMetrics: Sendable {
  let descriptors: [FamilyDescriptor]
  /// How long a request may be under way before it is reported; `nil` for no reports.
  let waitingLimit: Duration?
  private let waitingExemptions: Set<String>
  private let store: Mutex<RequestStore>

  package init(
    _ direction: RequestDirection, _ configuration: RequestConfiguration = .init(),
    exemplars: ExemplarPolicy = .sampled, historyStart: Instant? = nil
  ) throws(RegistryError) {
    let columns = try RequestColumns(direction, configuration)
    descriptors = columns.all.map(\.column.descriptor)
    (waitingLimit, waitingExemptions) = (configuration.waitingLimit, configuration.waitingExemptions)
    store = Mutex(
      RequestStore(
        direction, columns, configuration.series, exemplars: exemplars, historyStart: historyStart,
        waitingLimit: configuration.waitingLimit))
  }

  /// Counts a request as active.
  package func begin(_ request: borrowing RequestDescription) -> RequestSeries {
    store.withLock { $0.begin(request) }
  }

  /// Counts a request as active that has not ended, and lists it.
  package func begin(
    _ request: borrowing RequestDescription, at start: Instant, listing record: RequestRecord
  ) -> RequestSeries {
    let isReported =
      !waitingExemptions.contains(request.client)
      && request.urlTemplate.map(waitingExemptions.contains) != true
    return store.withLock { store in
      let series = store.begin(request)
      store.active.begin(record, at: start, in: series, isReported: isReported)
      return series
    }
  }

  /// Lists a request that has not begun.
  func list(_ record: RequestRecord, at now: Instant = .now) {
    store.withLock { $0.active.add(record, at: now) }
  }

  /// Forgets a request that has not begun.
  func unlist(_ record: RequestRecord) {
    store.withLock { $0.active.remove(record) }
  }

  /// The requests that wait since an instant or an earlier one, in no order.
  func active(since instant: Instant) -> [ActiveRequestTable.Listed] {
    store.withLock { $0.active.list(since: instant) }
  }

  /// What has waited for so long that it is reported, as it is now.
  func overdue(atMost count: Int, at now: Instant) -> ActiveRequestTable.Overdue {
    store.withLock { store in
      store.active.removeReleased()
      return store.active.overdue(atMost: count, at: now)
    }
  }

  /// What is to be reported now, and when to ask again at the latest.
  func takeReports(at now: Instant) -> (reports: ActiveRequestTable.Reports, next: Instant) {
    store.withLock { ($0.active.takeReports(at: now), $0.active.nextReport) }
  }

  /// How many requests have not been started, and since when the oldest of them waits.
  var waitingForStart: (count: Int, oldest: Instant)? {
    store.withLock { store in
      store.active.removeReleased()
      return store.active.waitingForStart
    }
  }

  /// Records an ended request, whose begin gave these series.
  ///
  /// - Parameter record: The request, if it is listed.
  package func end(
    _ observation: borrowing RequestObservation, _ series: RequestSeries, listed record: RequestRecord? = nil
  ) {
    store.withLock { store in
      store.end(observation, series)
      if let record { store.active.remove(record) }
    }
  }

  /// What the last ten minutes added; `nil` if that is not kept.
  package func history(at now: Instant) -> RequestHistory.Window? { store.withLock { $0.history(at: now) } }
}

extension RequestMetrics: MetricSource {
  func gather(at now: Instant) -> [GatheredFamily] { store.withLock { $0.gather(at: now) } }
}
