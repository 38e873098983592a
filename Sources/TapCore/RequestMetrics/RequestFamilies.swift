/// The histogram families of ended requests, which share their labels.
struct RequestFamilies: Sendable {
  private let duration: Part
  private let requestBodySize: Part
  private let responseBodySize: Part
  private let timeToFirstByte: Part?

  /// Those of the requests that the app makes.
  init(client configuration: RequestMetrics.Configuration) throws(RegistryError) {
    try self.init(
      "client", duration: "from the start to the last byte of the body", configuration.durationBuckets,
      configuration.bodySizeBuckets, hasFirstByte: true)
  }

  /// Those of the requests that the app serves.
  init(server configuration: InboundRequests.Configuration) throws(RegistryError) {
    try self.init(
      "server", duration: "from their beginning to the end of their response", configuration.durationBuckets,
      configuration.bodySizeBuckets, hasFirstByte: false)
  }

  private init(
    _ side: String, duration span: String, _ durationBuckets: HistogramBuckets,
    _ bodySizeBuckets: HistogramBuckets, hasFirstByte: Bool
  ) throws(RegistryError) {
    duration = try Part(
      "http_\(side)_request_duration_seconds", unit: "seconds",
      help: "Duration of HTTP \(side) requests, \(span).", durationBuckets)
    requestBodySize = try Part(
      "http_\(side)_request_body_size_bytes", unit: "bytes", help: "Size of HTTP \(side) request bodies.",
      bodySizeBuckets)
    responseBodySize = try Part(
      "http_\(side)_response_body_size_bytes", unit: "bytes", help: "Size of HTTP \(side) response bodies.",
      bodySizeBuckets)
    timeToFirstByte =
      hasFirstByte
      ? try Part(
        "http_\(side)_time_to_first_byte_seconds", unit: "seconds",
        help: "Time of HTTP \(side) requests from the start to the head of the response.", durationBuckets)
      : nil
  }

  private var parts: [Part] {
    [duration, requestBodySize, responseBodySize] + (timeToFirstByte.map { [$0] } ?? [])
  }

  var descriptors: [FamilyDescriptor] { parts.map(\.descriptor) }

  func makeSeries() -> RequestSeries {
    RequestSeries(
      duration: duration.makeHistogram(), requestBodySize: requestBodySize.makeHistogram(),
      responseBodySize: responseBodySize.makeHistogram(),
      timeToFirstByte: timeToFirstByte?.makeHistogram)
  }

  func gather(_ series: [Series<RequestSeries>]) -> [any GatheredFamily] {
    var families = [
      GatheredRequestHistograms(descriptor: duration.descriptor, series: series) { $0.duration },
      GatheredRequestHistograms(descriptor: requestBodySize.descriptor, series: series) {
        $0.requestBodySize
      },
      GatheredRequestHistograms(descriptor: responseBodySize.descriptor, series: series) {
        $0.responseBodySize
      },
    ]
    if let timeToFirstByte {
      families.append(
        GatheredRequestHistograms(descriptor: timeToFirstByte.descriptor, series: series) {
          $0.timeToFirstByte
        })
    }
    return families
  }

  func statistics(overflowCount: UInt64) -> [FamilyStatistics] {
    parts.map {
      FamilyStatistics(
        metric: $0.descriptor.name, overflowCount: overflowCount, droppedCount: $0.dropped.count)
    }
  }

  /// One of them.
  private struct Part: Sendable {
    let descriptor: FamilyDescriptor
    let dropped = DroppedValues()
    private let layout: BucketLayout

    init(
      _ name: String, unit: String, help: String, _ buckets: HistogramBuckets
    ) throws(RegistryError) {
      guard buckets.isValid else { throw RegistryError(.invalidBuckets, metric: name) }
      descriptor = try FamilyDescriptor(name: name, help: help, type: .histogram, unit: unit)
      layout = BucketLayout(buckets)
    }

    @Sendable func makeHistogram() -> Registry.Histogram {
      Registry.Histogram(layout: layout, dropped: dropped)
    }
  }
}
