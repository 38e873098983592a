/// A family at the moment of a scrape, whose set of series is fixed. A histogram of the app's own is read
/// just before it is written, so that a scrape has one snapshot at a time. Those of requests are values as
/// they were when they were gathered.
struct GatheredFamily: Sendable {
  enum Content: Sendable {
    case number(Double)
    case instrument(Registry.Histogram)
    case histogram(ValueHistogram)
    /// A value that the app computes when it is written. No lock is held then: it may use the registry.
    case callback(@Sendable () -> Double)
  }

  let descriptor: FamilyDescriptor
  /// How many look-ups of label sets exceeded the limit; `nil` if the family has never been asked for labels.
  let overflowCount: UInt64?
  /// How many values were dropped; `nil` for none.
  let droppedCount: UInt64?
  /// By label values, no label set twice.
  private let series: [Series]

  typealias Series = (labels: RenderedLabels, content: Content)

  init(_ descriptor: FamilyDescriptor, overflowCount: UInt64?, droppedCount: UInt64, series: [Series]) {
    (self.descriptor, self.overflowCount, self.series) = (descriptor, overflowCount, series)
    self.droppedCount = droppedCount > 0 ? droppedCount : nil
  }

  /// Of samples with equal labels, the first stays.
  init(_ descriptor: FamilyDescriptor, samples: [MetricFamily.Sample]) {
    var seen: Set<RenderedLabels> = []
    let series: [Series] = samples.map { (RenderedLabels($0.labels.pairs), .number($0.value)) }
      .filter { seen.insert($0.labels).inserted }.sorted { $0.labels < $1.labels }
    self.init(descriptor, overflowCount: nil, droppedCount: 0, series: series)
  }

  /// Writes the samples in the order of their labels. Without samples it writes no header either.
  ///
  /// - Parameter seriesEnded: Called after each series.
  func write<Writer: ExpositionWriter>(
    to writer: inout Writer, _ seriesEnded: (inout Writer) -> Void
  ) {
    var hasBegun = false
    forEachSeries { labels, content in
      if !hasBegun { writer.begin(descriptor, seriesCount: series.count) }
      hasBegun = true
      switch content {
      case .number(let value): writer.number(value, labels: labels)
      case .histogram(let histogram): writer.histogram(histogram, labels: labels)
      case .instrument, .callback: break
      }
      seriesEnded(&writer)
    }
  }

  /// The sum of the samples whose name is that of the family and this suffix, over the series with these
  /// labels.
  func sum(suffix: Substring, labels: [(name: [UInt8], value: [UInt8])]) -> Double? {
    var sum: Double?
    forEachSeries { series, content in
      let pairs = Dictionary(series.pairs.map { ($0.name, $0.value) }) { first, _ in first }
      // An empty label is no label.
      guard labels.allSatisfy({ pairs[$0, default: []] == $1 }) else { return }
      let value: Double? =
        switch (content, suffix) {
        case (.number(let value), ""): value
        case (.histogram(let histogram), "_count"): Double(histogram.count)
        case (.histogram(let histogram), "_sum"): histogram.sum
        default: nil
        }
      if let value { sum = (sum ?? 0) + value }
    }
    return sum
  }

  /// Calls for each series that has a valid value, with callbacks evaluated.
  private func forEachSeries(_ body: (Series) -> Void) {
    for var series in series {
      switch series.content {
      case .callback(let value): series.content = .number(value())
      case .instrument(let histogram): series.content = .histogram(histogram.snapshot)
      case .number, .histogram: break
      }
      if case .number(let value) = series.content, !descriptor.type.accepts(value) { continue }
      body(series)
    }
  }
}
