/// The series of an instrument family. Each is read just before it is written, so that a scrape of any size holds
/// one snapshot at a time.
struct GatheredSeries<Element: Instrument>: GatheredFamily {
  let descriptor: FamilyDescriptor
  let series: [Series<Element>]

  func writeSamples(to writer: inout any ExpositionWriter) {
    for series in series {
      series.element.write(labels: series.labels, created: series.created, to: &writer)
    }
  }
}
