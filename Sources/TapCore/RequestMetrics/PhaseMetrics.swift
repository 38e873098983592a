/// Where the time of requests went, and how many connections they opened, by client and server.
struct PhaseMetrics: Sendable {
  private struct Server: Hashable, Sendable {
    let client: String
    let address: String?
    let port: Int?

    var shortHash: Int {
      var hash = ShortHash()
      hash.combine(address)
      hash.combine(client)
      hash.combine(UInt64(truncatingIfNeeded: port ?? -1))
      return Int(truncatingIfNeeded: hash.value)
    }

    var pairs: [Labels.Pair] {
      [
        Labels.Pair(name: "client", value: client),
        Labels.Pair(name: "server_address", value: address ?? ""),
        Labels.Pair(name: "server_port", value: port.map(String.init) ?? ""),
      ]
    }
  }

  private struct ServerPhase: Hashable, Sendable {
    let server: Server
    let phase: RequestTimings.Phase
  }

  private let durations: Family<ServerPhase, Registry.Histogram>
  private let connections: Family<Server, Registry.Counter>

  init(_ configuration: RequestMetrics.Configuration) throws(RegistryError) {
    let name = "http_client_request_phase_duration_seconds"
    guard configuration.phaseBuckets.isValid else { throw RegistryError(.invalidBuckets, metric: name) }
    let layout = BucketLayout(configuration.phaseBuckets)
    let dropped = DroppedValues()
    durations = Family(
      descriptor: try FamilyDescriptor(
        name: name, help: "Duration of the phases of HTTP client requests, of the last leg after redirects.",
        type: .histogram, unit: "seconds"),
      options: configuration.series, dropped: dropped, buckets: configuration.phaseBuckets,
      render: { key in
        let phase = Labels.Pair(name: "phase", value: key.phase.rawValue)
        return RenderedLabels((key.server.pairs + [phase]).sorted { $0.name < $1.name })
      },
      make: { Registry.Histogram(layout: layout, dropped: dropped) })
    let droppedConnections = DroppedValues()
    connections = Family(
      descriptor: try FamilyDescriptor(
        name: "http_client_connections_opened_total", help: "Connections that HTTP client requests opened.",
        type: .counter, unit: nil),
      options: configuration.series, dropped: droppedConnections, render: { RenderedLabels($0.pairs) },
      make: { Registry.Counter(dropped: droppedConnections) })
  }

  /// Records a request, whose labels must be within their limits.
  func record(_ observation: RequestObservation) {
    guard !observation.timings.isEmpty || observation.openedConnections != nil else { return }
    let server = Server(
      client: observation.request.client, address: observation.request.serverAddress,
      port: observation.request.serverPort)
    let hash = server.shortHash
    for phase in RequestTimings.Phase.allCases {
      guard let nanoseconds = observation.timings[nanoseconds: phase] else { continue }
      let key = ServerPhase(server: server, phase: phase)
      durations[hashed: HashedKey(key, hash: hash &+ phase.place)].record(Double(nanoseconds) / 1e9)
    }
    // Also by 0: a server whose connections are all open already has a series.
    if let opened = observation.openedConnections {
      connections[hashed: HashedKey(server, hash: hash)].increment(by: max(0, opened))
    }
  }
}

extension PhaseMetrics: MetricSource {
  var descriptors: [FamilyDescriptor] { durations.descriptors + connections.descriptors }

  func gather(at now: ContinuousClock.Instant) -> [any GatheredFamily] {
    durations.gather(at: now) + connections.gather(at: now)
  }

  var statistics: [FamilyStatistics] { durations.statistics + connections.statistics }
}
