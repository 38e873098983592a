/// The histogram families of ended requests, which share their labels.
struct RequestFamilies: Sendable {
  private let duration: Part
  private let requestBodySize: Part
  private let responseBodySize: Part
  private let timeToFirstByte: Part?

  /// Those of the requests that the app makes.
  init(client configuration: RequestMetrics.Configuration) throws(RegistryError) {
    duration = try Part(
      "http_client_request_duration_seconds", unit: "seconds",
      help: "Duration of HTTP client requests, from the start to the last byte of the body.",
      configuration.durationBuckets)
    requestBodySize = try Part(
      "http_client_request_body_size_bytes", unit: "bytes", help: "Size of HTTP client request bodies.",
      configuration.bodySizeBuckets)
    responseBodySize = try Part(
      "http_client_response_body_size_bytes", unit: "bytes", help: "Size of HTTP client response bodies.",
      configuration.bodySizeBuckets)
    timeToFirstByte = try Part(
      "http_client_time_to_first_byte_seconds", unit: "seconds",
      help: "Time of HTTP client requests from the start to the head of the response.",
      configuration.durationBuckets)
  }

  /// Those of the requests that the app serves.
  init(server configuration: InboundRequests.Configuration) throws(RegistryError) {
    duration = try Part(
      "http_server_request_duration_seconds", unit: "seconds",
      help: "Duration of HTTP server requests, from their beginning to the end of their response.",
      configuration.durationBuckets)
    requestBodySize = try Part(
      "http_server_request_body_size_bytes", unit: "bytes", help: "Size of HTTP server request bodies.",
      configuration.bodySizeBuckets)
    responseBodySize = try Part(
      "http_server_response_body_size_bytes", unit: "bytes", help: "Size of HTTP server response bodies.",
      configuration.bodySizeBuckets)
    timeToFirstByte = nil
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

    @Sendable func makeHistogram() -> Histogram {
      Histogram(layout: layout, dropped: dropped)
    }
  }
}
