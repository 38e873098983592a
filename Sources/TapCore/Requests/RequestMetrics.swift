import Synchronization

/// The metrics of the requests of one direction.
///
/// When its begin is drained, a request finds the row of its target, and keeps it: its end counts there, whatever has expired or
/// overflowed since. Rows remember the rows that were found from them, so that an end needs no look-up in a table.
package final class RequestMetrics: Sendable {
  private struct State {
    var targets: RequestTable<RequestLabels.Target, RequestObservation>
    var clients: RequestTable<RequestLabels.Client, RequestObservation>
    var ends: RequestTable<RequestLabels.End, RequestObservation>
    var phases: RequestTable<RequestLabels.Phase, Int64>
    var servers: RequestTable<RequestLabels.Server, RequestObservation>
    /// The target of the latest request. Most have the same: to compare costs a tenth of a look-up.
    var latest: (labels: RequestLabels.Target, series: Series<RequestRow>)?

    mutating func target(_ labels: RequestLabels.Target) -> RequestRow {
      if let latest, let row = latest.series.row, latest.labels == labels { return row }
      let (series, row) = targets.find(labels)
      if !series.isOverflow { latest = (labels, series) }
      return row
    }

    mutating func client(of target: RequestRow, _ request: RequestDescription) -> RequestRow {
      target.find(.client) { clients.find(RequestLabels.Client(request)) }
    }
  }

  private let direction: RequestDirection
  private let methods: KnownMethods
  private let exemplars: ExemplarPolicy
  let descriptors: [FamilyDescriptor]
  private let state: Mutex<State>

  package init(
    _ direction: RequestDirection, _ options: RequestOptions = .init(), exemplars: ExemplarPolicy = .sampled
  ) throws(RegistryError) {
    self.direction = direction
    self.exemplars = exemplars
    methods = KnownMethods(options.knownMethods)
    let columns = try RequestColumns(direction, options)
    let state = State(
      targets: RequestTable(columns.targets, options.series),
      // What a client has counted stays: its series do not expire.
      clients: RequestTable(columns.clients, SeriesOptions(limit: options.series.limit)),
      ends: RequestTable(columns.ends, options.series), phases: RequestTable(columns.phases, options.series),
      servers: RequestTable(columns.servers, options.series))
    descriptors =
      state.ends.descriptors + state.targets.descriptors + state.clients.descriptors
      + state.phases.descriptors
      + state.servers.descriptors
    self.state = Mutex(state)
  }

  /// Counts a request as active. It keeps the row.
  package func begin(_ request: RequestDescription) -> RequestRow {
    state.withLock { state in
      let target = state.target(RequestLabels.Target(request, methods))
      state.targets.begin(in: target)
      let client = state.client(of: target, request)
      state.clients.begin(in: client)
      return target
    }
  }

  /// Records an ended request, in the row that its begin gave among others.
  package func end(_ observation: RequestObservation, _ target: RequestRow) {
    state.withLock { state in
      state.targets.end(observation, in: target)
      let client = state.client(of: target, observation.request)
      state.clients.end(observation, in: client)
      let outcome = RequestLabels.Outcome(observation)
      let end = target.find(.end(outcome)) {
        let labels = RequestLabels.Target(observation.request, methods)
        return state.ends.find(RequestLabels.End(direction: direction, target: labels, outcome: outcome))
      }
      state.ends.record(
        observation, in: end, trace: observation.request.traceContext, at: observation.endTime,
        exemplars: exemplars)
      guard direction == .outbound else { return }
      for phase in RequestTimings.Phase.allCases {
        guard let nanoseconds = observation.timings[nanoseconds: phase] else { continue }
        let row = end.find(.phase(phase)) {
          let server = RequestLabels.Server(observation.request)
          return state.phases.find(
            RequestLabels.Phase(server: server, template: outcome.template, phase: phase))
        }
        state.phases.record(nanoseconds, in: row)
      }
      guard state.servers.hasValue(of: observation) else { return }
      let server = target.find(.server) { state.servers.find(RequestLabels.Server(observation.request)) }
      state.servers.record(observation, in: server)
    }
  }
}

extension RequestMetrics: MetricSource {
  /// An app that serves nothing exposes nothing of it.
  func gather(at now: Instant) -> [GatheredFamily] {
    state.withLock { state in
      if direction == .inbound, state.clients.isEmpty { return [] }
      return state.ends.gather(at: now) + state.targets.gather(at: now) + state.clients.gather(at: now)
        + state.phases.gather(at: now) + state.servers.gather(at: now)
    }
  }
}
