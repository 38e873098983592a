/// A family at the moment of a scrape: which series it has is settled, their values may still be read.
protocol GatheredFamily: Sendable {
  var descriptor: FamilyDescriptor { get }
  /// Writes the samples in the order of their labels, one series after another.
  func writeSamples(to writer: any ExpositionWriter)
}

struct GatheredSamples: GatheredFamily {
  let descriptor: FamilyDescriptor
  /// By label values, no label set twice.
  private let samples: [(labels: RenderedLabels, value: Double)]

  /// Of samples with equal labels, the first stays.
  init(descriptor: FamilyDescriptor, samples: [MetricFamily.Sample]) {
    self.descriptor = descriptor
    var seen: Set<RenderedLabels> = []
    self.samples = samples.map { (RenderedLabels($0.labels.pairs), $0.value) }
      .filter { seen.insert($0.0).inserted }.sorted { $0.0 < $1.0 }
  }

  /// - Parameter series: By label values.
  init<Element>(_ descriptor: FamilyDescriptor, _ series: [Series<Element>], _ value: (Element) -> UInt64) {
    self.descriptor = descriptor
    samples = series.map { ($0.labels, Double(value($0.element))) }
  }

  func writeSamples(to writer: any ExpositionWriter) {
    for sample in samples { Self.write(sample.value, descriptor.type, labels: sample.labels, to: writer) }
  }

  static func write(
    _ value: Double, _ type: MetricType, labels: RenderedLabels, to writer: any ExpositionWriter
  ) {
    switch type {
    // A counter is never below 0 and never "not a number" (OpenMetrics, "Counter").
    case .counter: if value >= 0 { writer.counter(value, labels: labels, created: nil) }
    case .gauge, .info: writer.gauge(value, labels: labels)
    case .histogram: break
    }
  }
}

/// The series of a family of instruments. Each is read just before it is written, so that a scrape of any size holds
/// one snapshot at a time.
struct GatheredSeries: GatheredFamily {
  let descriptor: FamilyDescriptor
  private let series: [(labels: RenderedLabels, created: Timestamp, instrument: any Instrument)]

  /// - Parameter instrument: The instrument of a series, or `nil` where nothing has been recorded in it.
  init<Element>(
    _ descriptor: FamilyDescriptor, _ series: [Series<Element>], _ instrument: (Element) -> (any Instrument)?
  ) {
    self.descriptor = descriptor
    self.series = series.compactMap { series in
      instrument(series.element).map { (series.labels, series.created, $0) }
    }
  }

  func writeSamples(to writer: any ExpositionWriter) {
    for series in series {
      series.instrument.write(labels: series.labels, created: series.created, to: writer)
    }
  }
}
