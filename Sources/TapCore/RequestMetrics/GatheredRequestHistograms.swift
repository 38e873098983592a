/// One of the three histogram families of ended requests, at the moment of a scrape.
struct GatheredRequestHistograms: GatheredFamily {
  let descriptor: FamilyDescriptor
  let series: [Series<RequestSeries>]
  let histogram: @Sendable (RequestSeries) -> Histogram

  /// A size that was never known has no series: unknown is not 0.
  func writeSamples(to writer: inout any ExpositionWriter) {
    for series in series {
      let histogram = histogram(series.element)
      guard histogram.count > 0 else { continue }
      histogram.write(labels: series.labels, created: series.created, to: &writer)
    }
  }
}
