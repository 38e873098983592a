/// What the registry needs of a counter, a gauge or a histogram.
protocol Instrument: AnyObject, Sendable {
  /// Reads the value, then writes it as a series with these labels.
  func write(labels: RenderedLabels, created: Timestamp, to writer: inout any ExpositionWriter)
  /// A number that changes with every record.
  var activity: UInt64 { get }
}

extension Registry.Counter: Instrument {
  func write(labels: RenderedLabels, created: Timestamp, to writer: inout any ExpositionWriter) {
    writer.counter(value, labels: labels, created: created)
  }

  var activity: UInt64 { value.bitPattern }
}

extension Registry.Gauge: Instrument {
  func write(labels: RenderedLabels, created: Timestamp, to writer: inout any ExpositionWriter) {
    writer.gauge(value, labels: labels)
  }

  var activity: UInt64 { writes }
}

extension Registry.Histogram: Instrument {
  func write(labels: RenderedLabels, created: Timestamp, to writer: inout any ExpositionWriter) {
    writer.histogram(self, labels: labels, created: created)
  }

  var activity: UInt64 { count }
}
