/// One of the histogram families of ended requests, at the moment of a scrape.
struct GatheredRequestHistograms: GatheredFamily {
  let descriptor: FamilyDescriptor
  let series: [Series<RequestSeries>]
  let histogram: @Sendable (RequestSeries) -> Registry.Histogram?

  /// A size or time that was never known has no series: unknown is not 0.
  func writeSamples(to writer: inout any ExpositionWriter) {
    for series in series {
      guard let histogram = histogram(series.element), histogram.count > 0 else { continue }
      histogram.write(labels: series.labels, created: series.created, to: &writer)
    }
  }
}
