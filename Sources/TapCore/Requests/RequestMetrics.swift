import Synchronization

/// The metrics of the requests of one direction.
///
/// When its begin is drained, a request finds the row of its target, and keeps it: its end counts there, whatever has expired or
/// overflowed since. Rows remember the rows that were found from them, so that an end needs no look-up in a table.
package final class RequestMetrics: Sendable {
  private struct State {
    var targets: RequestTable<RequestLabels.Target>
    var clients: RequestTable<RequestLabels.Client>
    var ends: RequestTable<RequestLabels.End>
    var phases: RequestTable<RequestLabels.Phase>
    var servers: RequestTable<RequestLabels.Server>

    /// Forgets what was found of the series that have expired.
    mutating func expire(at now: Instant) {
      let expired = [
        targets.expire(at: now), ends.expire(at: now), phases.expire(at: now), servers.expire(at: now),
      ]
      guard expired.contains(true) else { return }
      targets.forgetRelated()
      ends.forgetRelated()
    }
  }

  private let direction: RequestDirection
  private let exemplars: ExemplarPolicy
  let descriptors: [FamilyDescriptor]
  private let state: Mutex<State>

  package init(
    _ direction: RequestDirection, _ configuration: RequestConfiguration = .init(),
    exemplars: ExemplarPolicy = .sampled
  ) throws(RegistryError) {
    self.direction = direction
    self.exemplars = exemplars
    let columns = try RequestColumns(direction, configuration)
    descriptors = columns.all.map(\.column.descriptor)
    state = Mutex(
      State(
        targets: RequestTable(columns.targets, configuration.series),
        // What a client has counted stays: its series do not expire.
        clients: RequestTable(columns.clients, SeriesConfiguration(limit: configuration.series.limit)),
        ends: RequestTable(columns.ends, configuration.series),
        phases: RequestTable(columns.phases, configuration.series),
        servers: RequestTable(columns.servers, configuration.series)))
  }

  /// Counts a request as active. It keeps the row.
  package func begin(_ request: borrowing RequestDescription) -> RequestRow {
    state.withLock { state in
      let target = state.targets.find(RequestLabels.Target(request)).row
      state.targets.begin(in: target)
      let client = target.related(.client) { state.clients.find(RequestLabels.Client(request)) }
      state.clients.begin(in: client)
      return target
    }
  }

  /// Records an ended request, in the row that its begin gave among others.
  package func end(_ observation: borrowing RequestObservation, _ target: RequestRow) {
    state.withLock { state in
      state.targets.record(observation, in: target, endsRequest: true)
      let client = target.related(.client) { state.clients.find(RequestLabels.Client(observation.request)) }
      state.clients.record(observation, in: client, endsRequest: true)
      let outcome = RequestLabels.Outcome(observation)
      let end = target.related(.end(outcome)) {
        state.ends.find(
          RequestLabels.End(
            direction: direction, target: RequestLabels.Target(observation.request), outcome: outcome))
      }
      state.ends.record(observation, in: end, exemplars: exemplars)
      guard direction == .outbound else { return }
      observation.timings.forEach { place, nanoseconds in
        let phase = RequestTimings.Phase.allCases[place]
        let row = end.related(.phase(phase)) {
          state.phases.find(
            RequestLabels.Phase(
              server: RequestLabels.Server(observation.request), template: outcome.template, phase: phase))
        }
        state.phases.record(seconds(nanoseconds), in: row)
      }
      guard state.servers.hasValue(of: observation) else { return }
      let server = target.related(.server) {
        state.servers.find(RequestLabels.Server(observation.request))
      }
      state.servers.record(observation, in: server)
    }
  }
}

extension RequestMetrics: MetricSource {
  /// An app that serves nothing exposes nothing of it.
  func gather(at now: Instant) -> [GatheredFamily] {
    state.withLock { state in
      if direction == .inbound, state.clients.isEmpty { return [] }
      state.expire(at: now)
      return state.ends.gather(at: now) + state.targets.gather(at: now) + state.clients.gather(at: now)
        + state.phases.gather(at: now) + state.servers.gather(at: now)
    }
  }
}

/// A clock that went back makes 0.
func seconds(_ nanoseconds: Int64) -> Double { Double(max(0, nanoseconds)) / 1e9 }
