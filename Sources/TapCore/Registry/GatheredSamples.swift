/// A family of plain values.
struct GatheredSamples: GatheredFamily {
  let descriptor: FamilyDescriptor
  /// By label values, no label set twice.
  private let samples: [Sample]

  /// Of samples with equal labels, the first stays.
  init(descriptor: FamilyDescriptor, samples: some Sequence<Sample>) {
    self.descriptor = descriptor
    var seen: Set<RenderedLabels> = []
    self.samples = samples.filter { seen.insert($0.labels).inserted }.sorted { $0.labels < $1.labels }
  }

  func writeSamples(to writer: inout any ExpositionWriter) {
    for sample in samples {
      switch descriptor.type {
      // A counter is never below 0 and never "not a number" (OpenMetrics, "Counter").
      case .counter where !(sample.value >= 0): continue
      case .counter: writer.counter(sample.value, labels: sample.labels, created: nil)
      case .gauge, .info: writer.gauge(sample.value, labels: sample.labels)
      case .histogram: break
      }
    }
  }

  /// A value and its labels, rendered.
  struct Sample: Sendable {
    let labels: RenderedLabels
    let value: Double

    init(labels: RenderedLabels, value: Double) {
      self.labels = labels
      self.value = value
    }

    init(_ sample: MetricFamily.Sample) {
      self.init(labels: RenderedLabels(sample.labels.pairs), value: sample.value)
    }
  }
}
