/// Writes delimited `io.prometheus.client.MetricFamily` messages (client_model, `metrics.proto`).
struct ProtobufWriter: ExpositionWriter {
  private var output = ProtobufMessage()
  private var family = ProtobufMessage()
  private var hasSamples = false
  private var reading = HistogramReading()

  mutating func start(in buffer: inout [UInt8]) {
    output.exchangeBytes(&buffer)
    output.removeAll()
  }

  mutating func begin(_ descriptor: FamilyDescriptor) {
    endFamily()
    family.append(string: descriptor.name, field: 1)
    if !descriptor.help.isEmpty { family.append(string: descriptor.help, field: 2) }
    family.append(unsigned: Self.number(of: descriptor.type), field: 3)
    if let unit = descriptor.unit { family.append(string: unit, field: 5) }
  }

  mutating func counter(_ value: Double, labels: RenderedLabels, created: Timestamp?) {
    var counter = ProtobufMessage()
    counter.append(double: value, field: 1)
    if let created { counter.append(message: Self.message(of: created), field: 3) }
    append(counter, field: 3, labels: labels)
  }

  mutating func gauge(_ value: Double, labels: RenderedLabels) {
    var gauge = ProtobufMessage()
    gauge.append(double: value, field: 1)
    append(gauge, field: 2, labels: labels)
  }

  mutating func histogram(_ histogram: Registry.Histogram, labels: RenderedLabels, created: Timestamp) {
    histogram.read(.everything, into: &reading)
    var message = ProtobufMessage()
    message.append(unsigned: reading.count, field: 1)
    message.append(double: reading.sum, field: 2)
    Self.append(classicBucketsOf: reading, bounds: histogram.layout.upperBounds, to: &message)
    Self.append(reading.native, to: &message)
    message.append(message: Self.message(of: created), field: 15)
    append(message, field: 7, labels: labels)
  }

  mutating func finish(into buffer: inout [UInt8]) {
    endFamily()
    output.exchangeBytes(&buffer)
  }

  /// Writes the family, unless it has no series.
  private mutating func endFamily() {
    if hasSamples {
      output.append(varint: UInt64(family.bytes.count))
      output.append(raw: family.bytes)
    }
    family.removeAll()
    hasSamples = false
  }

  private mutating func append(_ value: ProtobufMessage, field: Int, labels: RenderedLabels) {
    var metric = ProtobufMessage()
    for pair in labels.pairs {
      var label = ProtobufMessage()
      label.append(bytes: pair.name, field: 1)
      label.append(bytes: pair.value, field: 2)
      metric.append(message: label, field: 1)
    }
    metric.append(message: value, field: field)
    family.append(message: metric, field: 4)
    hasSamples = true
  }

  private static func number(of type: MetricType) -> UInt64 {
    switch type {
    case .counter: 0
    case .gauge, .info: 1
    case .histogram: 4
    }
  }
}

extension ProtobufWriter {
  private static func append(
    classicBucketsOf reading: HistogramReading, bounds: [Double], to message: inout ProtobufMessage
  ) {
    var total: UInt64 = 0
    for (index, count) in reading.counts.enumerated() {
      total &+= count
      var bucket = ProtobufMessage()
      bucket.append(unsigned: total, field: 1)
      bucket.append(double: index < bounds.count ? bounds[index] : .infinity, field: 2)
      if index < reading.exemplars.count, let exemplar = reading.exemplars[index] {
        bucket.append(message: self.message(of: exemplar), field: 3)
      }
      message.append(message: bucket, field: 3)
    }
  }

  private static func append(_ native: NativeBuckets, to message: inout ProtobufMessage) {
    message.append(signed: Int64(native.schema), field: 5)
    message.append(double: NativeScale.zeroThreshold, field: 6)
    message.append(unsigned: native.zeroCount, field: 7)
    append(NativeSpans(native.negative), spanField: 9, deltaField: 10, to: &message)
    append(NativeSpans(native.positive), spanField: 12, deltaField: 13, to: &message)
  }

  private static func append(
    _ spans: NativeSpans, spanField: Int, deltaField: Int, to message: inout ProtobufMessage
  ) {
    guard !spans.deltas.isEmpty else { return }
    for span in spans.spans {
      var bucketSpan = ProtobufMessage()
      bucketSpan.append(signed: Int64(span.offset), field: 1)
      bucketSpan.append(unsigned: UInt64(span.length), field: 2)
      message.append(message: bucketSpan, field: spanField)
    }
    message.append(packedSigned: spans.deltas, field: deltaField)
  }

  private static func message(of exemplar: Exemplar) -> ProtobufMessage {
    var message = ProtobufMessage()
    for (name, value) in [("trace_id", exemplar.trace.traceID), ("span_id", exemplar.trace.spanID)] {
      var label = ProtobufMessage()
      label.append(string: name, field: 1)
      label.append(string: value, field: 2)
      message.append(message: label, field: 1)
    }
    message.append(double: exemplar.value, field: 2)
    message.append(message: self.message(of: exemplar.timestamp), field: 3)
    return message
  }

  /// `google.protobuf.Timestamp`: the nanoseconds count forward, before 1970 too.
  private static func message(of timestamp: Timestamp) -> ProtobufMessage {
    let (seconds, nanoseconds) = timestamp.secondsAndNanoseconds
    var message = ProtobufMessage()
    message.append(integer: seconds, field: 1)
    message.append(integer: nanoseconds, field: 2)
    return message
  }
}

/// Native buckets as Prometheus transmits them: runs of consecutive buckets, and each count as the difference from
/// the one before.
struct NativeSpans: Sendable, Hashable {
  private(set) var spans: [Span] = []
  private(set) var deltas: [Int64] = []

  /// A run of buckets. The first offset is the number of the first bucket, a later one is the gap since the run
  /// before.
  struct Span: Sendable, Hashable {
    let offset: Int
    fileprivate(set) var length: Int
  }

  init(_ counts: NativeCounts) {
    var next = 0
    var previous: UInt64 = 0
    for entry in counts.entries {
      // Prometheus numbers a bucket by its upper bound, base^index.
      let index = entry.bucket + 1
      if spans.isEmpty || index != next {
        spans.append(Span(offset: index - next, length: 1))
      } else {
        spans[spans.count - 1].length += 1
      }
      deltas.append(Int64(bitPattern: entry.count &- previous))
      previous = entry.count
      next = index + 1
    }
  }
}
