import Synchronization

/// The histogram families of ended requests, which share their labels.
struct EndFamilies: Sendable {
  private let duration: HistogramFamily
  private let requestBodySize: HistogramFamily
  private let responseBodySize: HistogramFamily
  private let timeToFirstByte: HistogramFamily?

  init(
    _ direction: RequestDirection, _ configuration: RequestMetrics.Configuration
  ) throws(RegistryError) {
    let isClient = direction == .outbound
    let side = isClient ? "client" : "server"
    let span =
      isClient
      ? "from the start to the last byte of the body" : "from their beginning to the end of their response"
    let sizes = configuration.bodySizeBuckets
    duration = try HistogramFamily(
      "http_\(side)_request_duration_seconds", unit: "seconds",
      help: "Duration of HTTP \(side) requests, \(span).", configuration.durationBuckets)
    requestBodySize = try HistogramFamily(
      "http_\(side)_request_body_size_bytes", unit: "bytes", help: "Size of HTTP \(side) request bodies.",
      sizes)
    responseBodySize = try HistogramFamily(
      "http_\(side)_response_body_size_bytes", unit: "bytes", help: "Size of HTTP \(side) response bodies.",
      sizes)
    timeToFirstByte =
      isClient
      ? try HistogramFamily(
        "http_client_time_to_first_byte_seconds", unit: "seconds",
        help: "Time of HTTP client requests from the start to the head of the response.",
        configuration.durationBuckets)
      : nil
  }

  private var all: [HistogramFamily] {
    [duration, requestBodySize, responseBodySize] + (timeToFirstByte.map { [$0] } ?? [])
  }

  var descriptors: [FamilyDescriptor] { all.map(\.descriptor) }

  func makeSeries() -> EndSeries {
    EndSeries(
      duration: duration.makeHistogram(), requestBodySize: requestBodySize.makeHistogram(),
      responseBodySize: responseBodySize.makeHistogram(), firstByteFamily: timeToFirstByte)
  }

  func gather(_ series: [Series<EndSeries>]) -> [any GatheredFamily] {
    [
      GatheredEndSeries(descriptor: duration.descriptor, series: series) { $0.duration },
      GatheredEndSeries(descriptor: requestBodySize.descriptor, series: series) { $0.requestBodySize },
      GatheredEndSeries(descriptor: responseBodySize.descriptor, series: series) { $0.responseBodySize },
    ]
      + (timeToFirstByte.map {
        [GatheredEndSeries(descriptor: $0.descriptor, series: series) { $0.timeToFirstByte }]
      } ?? [])
  }

  func statistics(overflowCount: UInt64) -> [FamilyStatistics] {
    all.map {
      FamilyStatistics(
        metric: $0.descriptor.name, overflowCount: overflowCount, droppedCount: $0.dropped.count)
    }
  }
}

/// What the histograms of one family have in common.
private struct HistogramFamily: Sendable {
  let descriptor: FamilyDescriptor
  let dropped = DroppedValues()
  private let layout: BucketLayout

  init(_ name: String, unit: String, help: String, _ buckets: HistogramBuckets) throws(RegistryError) {
    guard buckets.isValid else { throw RegistryError(.invalidBuckets, metric: name) }
    descriptor = try FamilyDescriptor(name: name, help: help, type: .histogram, unit: unit)
    layout = BucketLayout(buckets)
  }

  func makeHistogram() -> Registry.Histogram { Registry.Histogram(layout: layout, dropped: dropped) }
}

/// The histograms of one set of labels: found together, by one look-up.
final class EndSeries: Sendable {
  fileprivate let duration: Registry.Histogram
  fileprivate let requestBodySize: Registry.Histogram
  fileprivate let responseBodySize: Registry.Histogram
  private let firstByte = AtomicLazyReference<Registry.Histogram>()
  private let firstByteFamily: HistogramFamily?

  fileprivate init(
    duration: Registry.Histogram, requestBodySize: Registry.Histogram, responseBodySize: Registry.Histogram,
    firstByteFamily: HistogramFamily?
  ) {
    self.duration = duration
    self.requestBodySize = requestBodySize
    self.responseBodySize = responseBodySize
    self.firstByteFamily = firstByteFamily
  }

  /// Made when the first time is recorded: without libcurl's account few requests have one.
  fileprivate var timeToFirstByte: Registry.Histogram? { firstByte.load() }

  /// A number that changes with every request.
  var activity: UInt64 { duration.count }

  func record(_ observation: RequestObservation) {
    let (trace, end) = (observation.request.traceContext, observation.endTime)
    duration.record(Self.seconds(observation.elapsed), trace: trace, at: end)
    if let size = observation.requestBodySize, size >= 0 {
      requestBodySize.record(Double(size), trace: trace, at: end)
    }
    if let size = observation.responseBodySize, size >= 0 {
      responseBodySize.record(Double(size), trace: trace, at: end)
    }
    if let time = observation.elapsedToFirstByte, let family = firstByteFamily {
      let histogram = firstByte.load() ?? firstByte.storeIfNil(family.makeHistogram())
      histogram.record(Self.seconds(time), trace: trace, at: end)
    }
  }

  private static func seconds(_ nanoseconds: Int64) -> Double { Double(max(0, nanoseconds)) / 1e9 }
}

/// One of the histogram families of ended requests, at the moment of a scrape.
private struct GatheredEndSeries: GatheredFamily {
  let descriptor: FamilyDescriptor
  let series: [Series<EndSeries>]
  let histogram: @Sendable (EndSeries) -> Registry.Histogram?

  /// A size or time that was never known has no series: unknown is not 0.
  func writeSamples(to writer: inout any ExpositionWriter) {
    for series in series {
      guard let histogram = histogram(series.element), histogram.count > 0 else { continue }
      histogram.write(labels: series.labels, created: series.created, to: &writer)
    }
  }
}

/// Where the time of requests went, and what their connections were like, by client and server.
struct PhaseFamilies: Sendable {
  private let durations: Family<PhaseLabels, Registry.Histogram>
  private let connections: Family<ServerLabels, Registry.Counter>
  private let roundTrips: Family<ServerLabels, Registry.Histogram>
  private let retransmissions: Family<ServerLabels, Registry.Counter>

  init(_ configuration: RequestMetrics.Configuration) throws(RegistryError) {
    let family = try HistogramFamily(
      "http_client_request_phase_duration_seconds", unit: "seconds",
      help: "Duration of the phases of HTTP client requests, of the last leg after redirects.",
      configuration.phaseBuckets)
    durations = Family(
      descriptor: family.descriptor, options: configuration.series, dropped: family.dropped,
      render: \.rendered, make: { family.makeHistogram() })
    let roundTrip = try HistogramFamily(
      "http_client_network_round_trip_seconds", unit: "seconds",
      help: "Least round trip of the connections of HTTP client requests, read at the end of a request.",
      configuration.roundTripBuckets)
    roundTrips = Family(
      descriptor: roundTrip.descriptor, options: configuration.series, dropped: roundTrip.dropped,
      render: { RenderedLabels($0.pairs) }, make: { roundTrip.makeHistogram() })
    connections = try Self.counter(
      "http_client_connections_opened_total", "Connections that HTTP client requests opened.", configuration)
    retransmissions = try Self.counter(
      "http_client_retransmitted_segments_total",
      "TCP segments that were sent again on the connections of HTTP client requests.", configuration)
  }

  private static func counter(
    _ name: String, _ help: String, _ configuration: RequestMetrics.Configuration
  ) throws(RegistryError) -> Family<ServerLabels, Registry.Counter> {
    let dropped = DroppedValues()
    return Family(
      descriptor: try FamilyDescriptor(name: name, help: help, type: .counter, unit: nil),
      options: configuration.series, dropped: dropped, render: { RenderedLabels($0.pairs) },
      make: { Registry.Counter(dropped: dropped) })
  }

  func record(_ observation: RequestObservation, _ server: ServerLabels) {
    if !observation.timings.isEmpty {
      let template = observation.request.urlTemplate?.asLabel
      for phase in RequestTimings.Phase.allCases {
        guard let nanoseconds = observation.timings[nanoseconds: phase] else { continue }
        durations[PhaseLabels(server: server, template: template, phase: phase)]
          .record(Double(nanoseconds) / 1e9)
      }
    }
    if let roundTrip = observation.roundTrip { roundTrips[server].record(Double(max(0, roundTrip)) / 1e9) }
    // Also by 0: a server whose connections are all open already has a series.
    if let opened = observation.openedConnections { connections[server].increment(by: max(0, opened)) }
    if let again = observation.retransmittedSegments { retransmissions[server].increment(by: max(0, again)) }
  }

  private var all: [any MetricSource] { [durations, connections, roundTrips, retransmissions] }

  var descriptors: [FamilyDescriptor] { all.flatMap(\.descriptors) }

  func gather(at now: ContinuousClock.Instant) -> [any GatheredFamily] { all.flatMap { $0.gather(at: now) } }

  var statistics: [FamilyStatistics] { all.flatMap(\.statistics) }
}
