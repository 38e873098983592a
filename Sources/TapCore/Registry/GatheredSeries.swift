/// The series of an instrument family. Each is read just before it is written, so that a scrape of any size holds
/// one snapshot at a time.
struct GatheredSeries<Element: Instrument>: GatheredFamily {
  let descriptor: FamilyDescriptor
  let series: [Series<Element>]

  func writeSamples(to writer: inout any ExpositionWriter) {
    var start = 0
    while start < series.count {
      let batch = series[start..<min(start + 16, series.count)]
      // Where the series do not fit the caches, the loads of one batch wait side by side and not one after another.
      for series in batch { series.element.touch() }
      for series in batch {
        series.element.write(labels: series.labels, created: series.created, to: &writer)
      }
      start += batch.count
    }
  }
}
