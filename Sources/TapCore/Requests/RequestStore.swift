import Synchronization

/// The metrics of the requests of one direction, as plain values. Kept under a lock by its owner.
///
/// A request that begins finds the series of its client and its target, and keeps their ids: its end counts
/// there, even if they have expired or overflowed since. If the targets are full, it counts in the overflow
/// series of ends, servers and phases too: a flood of new targets then costs no more than known ones.
package struct RequestStore: Sendable {
  private let direction: RequestDirection
  private let exemplars: ExemplarPolicy
  private var clients: RequestTable<RequestLabels.Client>
  private var targets: RequestTable<RequestLabels.Target>
  private var ends: RequestTable<EndKey>
  private var servers: RequestTable<RequestLabels.Server>
  private var phases: RequestTable<PhaseKey>
  private var routes: RequestTable<RequestLabels.Route>
  private var upstreams: RequestTable<RequestLabels.Upstream>
  /// `nil` if nothing shows it.
  private var history: RequestHistory?
  package var active: ActiveRequestTable

  /// The indices of the ids that a target and an end keep of related series in other tables: so a request
  /// needs two look-ups.
  private enum Lead {
    static let client = 0
    static let clientCount = 1
    static let server = 0
    static func phase(_ index: Int) -> Int { 1 + index }
    static let serverAndPhasesCount = 1 + RequestTimings.Phase.allCases.count
  }

  /// The ids in these keys stay valid: each end is recorded in its target too, and each phase in its server,
  /// so that neither expires before them.
  private struct EndKey: Hashable, Sendable {
    let target: SeriesID
    let outcome: RequestLabels.Outcome
  }

  private struct PhaseKey: Hashable, Sendable {
    let server: SeriesID
    let template: String?
    let phase: RequestTimings.Phase
  }

  init(
    _ direction: RequestDirection, _ columns: RequestColumns, _ configuration: RequestConfiguration,
    exemplars: ExemplarPolicy, historyStart: Instant?
  ) {
    (self.direction, self.exemplars) = (direction, exemplars)
    active = ActiveRequestTable(
      limit: configuration.waitingLimit, exemptions: configuration.waitingExemptions)
    let series = configuration.series
    history = historyStart.map { RequestHistory(bounds: columns.durationBounds, start: $0) }
    // The series of clients do not expire.
    clients = RequestTable(columns.clients, SeriesConfiguration(limit: series.limit))
    targets = RequestTable(columns.targets, series, leadCount: Lead.clientCount)
    ends = RequestTable(columns.ends, series, leadCount: Lead.serverAndPhasesCount)
    servers = RequestTable(columns.servers, series)
    phases = RequestTable(columns.phases, series)
    routes = RequestTable(columns.routes, series)
    upstreams = RequestTable(columns.upstreams, series)
  }

  /// Counts the begin of a request.
  package mutating func begin(_ request: borrowing RequestDescription) -> RequestSeries {
    let target = targets.series.find(RequestLabels.Target(request), labels: \.rendered)
    let leads = targets.begin(in: target)
    let client: SeriesID
    if let known = clients.series.known(leads[Lead.client]) {
      client = known
    } else {
      client = clients.series.find(RequestLabels.Client(request), labels: \.rendered)
      targets.lead(from: target, Lead.client, to: client, isOverflow: clients.series.isOverflow(client))
    }
    clients.begin(in: client)
    return RequestSeries(client: client, target: target)
  }

  /// Records an ended request, in the series of its begin and others.
  ///
  /// - Parameter now: For the history.
  package mutating func end(
    _ request: borrowing RequestObservation, _ begun: RequestSeries, at now: @autoclosure () -> Instant = .now
  ) {
    clients.record(request, in: begun.client, endsRequest: true)
    targets.record(request, in: begun.target, endsRequest: true)
    let isOverflow = targets.series.isOverflow(begun.target)
    let key = EndKey(target: begun.target, outcome: RequestLabels.Outcome(request))
    let end: SeriesID
    if let known = ends.series.findWithoutLabels(key, isOverflow: isOverflow) {
      end = known
    } else {
      let target = RequestLabels.Target(request.request)
      let labels = RequestLabels.End(direction: direction, target: target, outcome: key.outcome)
      end = ends.series.find(key, labels: labels.rendered)
    }
    if history != nil { keepHistory(of: end, request, at: now()) }
    let leads = ends.record(request, in: end, exemplars.trace(of: request.request))
    guard direction == .outbound else { return recordUpstream(of: request) }
    guard !request.timings.isEmpty || servers.hasValue(of: request) else { return }
    let server: SeriesID
    if let known = servers.series.known(leads[Lead.server]) {
      server = known
    } else {
      let key = RequestLabels.Server(request.request)
      server = servers.series.find(key, isOverflow: isOverflow, labels: \.rendered)
      ends.lead(from: end, Lead.server, to: server, isOverflow: servers.series.isOverflow(server))
    }
    servers.record(request, in: server)
    for (index, nanoseconds) in request.timings.values.enumerated() where nanoseconds >= 0 {
      let id =
        phases.series.known(leads[Lead.phase(index)])
        ?? findPhase(index, request.request, of: end, isOverflow, server)
      phases.record(seconds(nanoseconds), in: id)
    }
  }

  /// Records what the calls within a served request took, by its route and by their clients.
  private mutating func recordUpstream(of request: borrowing RequestObservation) {
    guard var time = request.upstream else { return }
    let route = request.request.urlTemplate?.asLabel
    let id = routes.series.find(RequestLabels.Route(route: route), labels: \.rendered)
    routes.record(request, in: id, exemplars.trace(of: request.request))
    time.clients.removeAll { client in
      let key = RequestLabels.Upstream(route: route, client: client.name.asLabel)
      let id = upstreams.series.find(key, labels: \.rendered)
      upstreams.record(Double(client.requestCount), in: id)
      upstreams.record(seconds(client.nanoseconds), in: id, column: 1)
      return upstreams.series.isOverflow(id)
    }
    if !routes.series.isOverflow(id) { history?.add(time, route: route, isAnswered: request.isAnswered) }
  }

  /// Finds the series of a phase, to which the end leads from now on.
  private mutating func findPhase(
    _ index: Int, _ request: borrowing RequestDescription, of end: SeriesID, _ isOverflow: Bool,
    _ server: SeriesID
  ) -> SeriesID {
    let (phase, template) = (RequestTimings.Phase.allCases[index], request.urlTemplate?.asLabel)
    let key = PhaseKey(server: server, template: template, phase: phase)
    let id: SeriesID
    if let known = phases.series.findWithoutLabels(key, isOverflow: isOverflow) {
      id = known
    } else {
      let server = RequestLabels.Server(request)
      let labels = RequestLabels.Phase(server: server, template: template, phase: phase)
      id = phases.series.find(key, labels: labels.rendered)
    }
    ends.lead(from: end, Lead.phase(index), to: id, isOverflow: phases.series.isOverflow(id))
    return id
  }

  /// All metrics as they are now, without series that have been idle for too long; nothing of the inbound
  /// direction before its first request.
  mutating func gather(at now: Instant) -> [GatheredFamily] {
    closeHistory(at: now)
    active.removeGone()
    targets.clearAges()
    active.forEachActive { series, start in
      targets.raiseAge(to: seconds(now.nanoseconds - start.nanoseconds), in: series.target)
    }
    if direction == .inbound, clients.series.isEmpty { return [] }
    return clients.series.gather(at: now) + targets.series.gather(at: now) + ends.series.gather(at: now)
      + servers.series.gather(at: now) + phases.series.gather(at: now) + routes.series.gather(at: now)
      + upstreams.series.gather(at: now)
  }
}

extension RequestStore {
  /// What has been added in the last ten minutes; `nil` without a history.
  package mutating func history(at now: Instant) -> RequestHistory.Window? {
    closeHistory(at: now)
    return history.map { $0.window(values(of: $0.changed), at: now) }
  }

  /// Before the request is recorded in the series.
  private mutating func keepHistory(
    of id: SeriesID, _ request: borrowing RequestObservation, at now: Instant
  ) {
    closeHistory(at: now)
    if history?.hasChange(of: id) == false, let before = ends.durations(of: id) { history?.begin(id, before) }
    history?.keep(request, of: id)
  }

  private mutating func closeHistory(at now: Instant) {
    guard history?.mustClose(at: now) == true, let changed = history?.changed else { return }
    let values = values(of: changed)
    history?.close(values, at: now)
  }

  private func values(of changed: [SeriesID]) -> [SeriesID: RequestHistory.Values] {
    Dictionary(uniqueKeysWithValues: changed.compactMap { id in ends.durations(of: id).map { (id, $0) } })
  }
}

/// The series in which a request was counted as active, and in which its end counts.
package struct RequestSeries: Sendable {
  fileprivate let client: SeriesID
  fileprivate let target: SeriesID
}

extension ExemplarPolicy {
  /// The trace that an exemplar refers to.
  fileprivate func trace(of request: RequestDescription) -> TraceContext? {
    guard self != .none, let trace = request.traceContext else { return nil }
    return self == .all || trace.isSampled ? trace : nil
  }
}

/// A clock that went back makes 0.
func seconds(_ nanoseconds: Int64) -> Double { Double(max(0, nanoseconds)) / 1e9 }

/// The store of a direction under its lock, as a source of metrics.
package final class RequestMetrics: MetricSource {
  let descriptors: [FamilyDescriptor]
  /// How long a request may be active before it is reported; `nil` for no reports.
  let waitingLimit: Duration?
  private let store: Mutex<RequestStore>

  package init(
    _ direction: RequestDirection, _ configuration: RequestConfiguration = .init(),
    exemplars: ExemplarPolicy = .sampled, historyStart: Instant? = nil
  ) throws(RegistryError) {
    let columns = try RequestColumns(direction, configuration)
    descriptors = columns.all.map(\.column.descriptor)
    waitingLimit = configuration.waitingLimit
    store = Mutex(
      RequestStore(direction, columns, configuration, exemplars: exemplars, historyStart: historyStart))
  }

  package func withLock<Result>(_ body: (inout RequestStore) -> sending Result) -> sending Result {
    store.withLock { body(&$0) }
  }

  func gather(at now: Instant) -> [GatheredFamily] { withLock { $0.gather(at: now) } }
}
