import Synchronization

/// The metrics of the requests of one direction.
///
/// When its begin is drained, a request finds its target by one look-up, and keeps it. The target has a short list of what its
/// requests came to, so that an end finds its series without another look-up, and builds no labels.
package final class RequestFamilies: Sendable {
  private struct State {
    var targets: SeriesTable<RequestLabels.Target, RequestSeries.Target>
    var clients: SeriesTable<String, RequestSeries.Counts>
    var ends: SeriesTable<RequestLabels.End, RequestSeries.End>
    var phases: SeriesTable<RequestLabels.Phase, Registry.Histogram>
    var servers: SeriesTable<RequestLabels.Server, RequestSeries.Server>
    /// The target of the latest request. Most have the same: to compare costs a tenth of a look-up.
    var latest: RequestSeries.Target?

    init(_ options: SeriesOptions) {
      targets = SeriesTable(options)
      // What a client has counted stays: its series do not expire.
      clients = SeriesTable(SeriesOptions(limit: options.limit))
      ends = SeriesTable(options)
      phases = SeriesTable(options)
      servers = SeriesTable(options)
    }

    mutating func target(of request: RequestDescription, _ methods: KnownMethods) -> RequestSeries.Target {
      if let latest, latest.labels.fit(request) { return latest }
      let labels = RequestLabels.Target(request, methods)
      if let known = targets.element(for: labels) {
        latest = known
        return known
      }
      let (client, _) = clients.element(
        for: labels.server.client, labels: { RenderedLabels([Labels.Pair(name: "client", value: $0)]) },
        make: RequestSeries.Counts.init)
      let (target, isShared) = targets.element(for: labels, labels: \.rendered) {
        RequestSeries.Target(labels, RequestSeries.Counts(), client)
      }
      // Requests without room share one series of the gauge, but end under their own labels and client.
      return isShared ? RequestSeries.Target(labels, target.counts, client) : target
    }

    mutating func expire(at now: Instant) {
      // Else what has expired would be kept alive. What is asked for is found again.
      latest = nil
      for target in targets.sorted() { target.element.forget() }
      for end in ends.sorted() { end.element.forget() }
      targets.expire(at: now) { target in
        target.counts.values.withLock { $0.active == 0 ? $0.ended : nil }
      }
      ends.expire(at: now) { end in end.histograms.withLock { $0.byFamily[0]?.activity ?? 0 } }
      phases.expire(at: now, activity: \.activity)
      servers.expire(at: now) { server in server.instruments.withLock { $0.activity } }
    }
  }

  private let direction: RequestDirection
  private let methods: KnownMethods
  private let exemplars: ExemplarPolicy
  private let expires: Bool
  /// Of the duration, the bodies of request and response and, for requests of the app's, the time to the first byte.
  private let histograms: [HistogramFamily]
  private let targetCounts: [CountFamily]
  private let clientCounts: [CountFamily]
  private let connections: ConnectionFamilies?
  private let state: Mutex<State>

  package init(
    _ direction: RequestDirection, _ metrics: RequestOptions = .init(), exemplars: ExemplarPolicy = .sampled
  ) throws(RegistryError) {
    self.direction = direction
    self.exemplars = exemplars
    methods = KnownMethods(metrics.knownMethods)
    expires = metrics.series.idleExpiry != nil
    histograms = try metrics.histograms(of: direction)
    targetCounts = try metrics.targetCounts(of: direction)
    clientCounts = try metrics.clientCounts(of: direction)
    connections = direction == .outbound ? try ConnectionFamilies(metrics) : nil
    state = Mutex(State(metrics.series))
  }

  /// Counts a request as active. It keeps the target.
  package func begin(_ request: RequestDescription) -> RequestSeries.Target {
    state.withLock { state in
      let target = state.target(of: request, methods)
      target.counts.values.withLock { $0.started &+= 1 }
      target.client.values.withLock { $0.started &+= 1 }
      return target
    }
  }

  package func end(_ observation: RequestObservation, _ target: RequestSeries.Target) {
    let labels = RequestLabels.Outcome(observation)
    state.withLock { state in
      target.counts.values.withLock { counts in
        counts.ended &+= 1
        counts.addRedirects(UInt64(max(0, observation.resendCount ?? 0)))
      }
      target.client.values.withLock { counts in
        counts.ended &+= 1
        if observation.end == .cancelled { counts.cancelled &+= 1 }
      }
      let (end, isShared) = target.end(labels) {
        state.ends.element(
          for: RequestLabels.End(direction: direction, target: target.labels, outcome: labels),
          labels: \.rendered, make: { RequestSeries.End(labels, histogramCount: histograms.count) })
      }
      end.histograms.withLock { histograms in
        record(observation, in: &histograms.byFamily)
        guard let phases = connections?.phases else { return }
        for phase in RequestTimings.Phase.allCases {
          guard let nanoseconds = observation.timings[nanoseconds: phase] else { continue }
          var histogram = isShared ? nil : histograms.phases[phase.place]
          if histogram == nil {
            let found = state.phases.element(
              for: RequestLabels.Phase(server: target.labels.server, template: labels.template, phase: phase),
              labels: \.rendered, make: phases.make)
            histogram = found.element
            if !isShared, !found.isShared { histograms.phases[phase.place] = histogram }
          }
          histogram?.record(Double(nanoseconds) / 1e9)
        }
      }
      guard let connections,
        observation.openedConnections != nil || observation.roundTrip != nil
          || observation.retransmittedSegments != nil
      else { return }
      let server = target.server {
        state.servers.element(
          for: target.labels.server, labels: \.rendered, make: RequestSeries.Server.init)
      }
      connections.record(observation, in: server)
    }
  }

  /// The places are those of the list that `RequestOptions.histograms(of:)` makes.
  private func record(_ observation: RequestObservation, in series: inout [Registry.Histogram?]) {
    let (trace, end) = (observation.request.traceContext, observation.endTime)
    func record(_ place: Int, _ value: Double) {
      (series[place] ?? histograms[place].instrument(of: &series[place])).record(
        value, trace: trace, at: end, exemplars: exemplars)
    }
    record(0, Double(max(0, observation.elapsed)) / 1e9)
    func record(_ place: Int, size: Int64?) {
      guard let size else { return }
      if size < 0 { histograms[place].drop() } else { record(place, Double(size)) }
    }
    record(1, size: observation.requestBodySize)
    record(2, size: observation.responseBodySize)
    if let time = observation.elapsedToFirstByte, histograms.count > 3 {
      record(3, Double(max(0, time)) / 1e9)
    }
  }
}

extension RequestFamilies: MetricSource {
  var descriptors: [FamilyDescriptor] {
    histograms.map(\.descriptor) + targetCounts.map(\.descriptor) + clientCounts.map(\.descriptor)
      + (connections?.descriptors ?? [])
  }

  /// An app that serves nothing exposes nothing of it.
  func gather(at now: Instant) -> [GatheredFamily] {
    state.withLock { state in
      if expires { state.expire(at: now) }
      let (targets, clients, ends) = (state.targets.sorted(), state.clients.sorted(), state.ends.sorted())
      if direction == .inbound, clients.isEmpty { return [] }
      var families = histograms.enumerated().map { place, family in
        family.gathered(ends, state.ends.overflowCount) { end in
          end.histograms.withLock { $0.byFamily[place] }
        }
      }
      families += targetCounts.enumerated().map { place, family in
        family.gathered(targets, overflowCount: place == 0 ? state.targets.overflowCount : nil, \.counts)
      }
      families += clientCounts.map { $0.gathered(clients, overflowCount: nil, \.self) }
      guard let connections else { return families }
      families.append(connections.phases.gathered(state.phases.sorted(), state.phases.overflowCount) { $0 })
      return families + connections.gathered(state.servers.sorted(), state.servers.overflowCount)
    }
  }
}

/// Where the time of requests went, and what their connections were like.
private final class ConnectionFamilies: Sendable {
  let phases: HistogramFamily
  private let roundTrip: HistogramFamily
  private let opened: InstrumentFamily<Registry.Counter>
  private let retransmissions: InstrumentFamily<Registry.Counter>

  init(_ metrics: RequestOptions) throws(RegistryError) {
    phases = try InstrumentFamily(
      "http_client_request_phase_duration_seconds",
      "Duration of the phases of HTTP client requests, of the last leg after redirects.", metrics.phaseBuckets
    )
    roundTrip = try InstrumentFamily(
      "http_client_network_round_trip_seconds",
      "Least round trip of the connections of HTTP client requests, read at the end of a request.",
      metrics.roundTripBuckets)
    opened = try InstrumentFamily(
      "http_client_connections_opened_total", "Connections that HTTP client requests opened.", .counter,
      make: Registry.Counter.init)
    retransmissions = try InstrumentFamily(
      "http_client_retransmitted_segments_total",
      "TCP segments that were sent again on the connections of HTTP client requests.", .counter,
      make: Registry.Counter.init)
  }

  func record(_ observation: RequestObservation, in series: RequestSeries.Server) {
    series.instruments.withLock { series in
      series.activity &+= 1
      if let time = observation.roundTrip {
        (series.roundTrip ?? roundTrip.instrument(of: &series.roundTrip)).record(Double(max(0, time)) / 1e9)
      }
      // A server whose connections are all open already has a series, too.
      if let count = observation.openedConnections {
        let counter = series.connections ?? opened.instrument(of: &series.connections)
        if count > 0 { counter.increment(by: count) }
      }
      if let count = observation.retransmittedSegments {
        let counter = series.retransmissions ?? retransmissions.instrument(of: &series.retransmissions)
        if count > 0 { counter.increment(by: count) }
      }
    }
  }

  var descriptors: [FamilyDescriptor] {
    [phases.descriptor, roundTrip.descriptor, opened.descriptor, retransmissions.descriptor]
  }

  func gathered(_ servers: [Series<RequestSeries.Server>], _ overflowCount: UInt64) -> [GatheredFamily] {
    [
      roundTrip.gathered(servers, overflowCount) { server in server.instruments.withLock { $0.roundTrip } },
      opened.gathered(servers, overflowCount) { server in server.instruments.withLock { $0.connections } },
      retransmissions.gathered(servers, overflowCount) { server in
        server.instruments.withLock { $0.retransmissions }
      },
    ]
  }
}
