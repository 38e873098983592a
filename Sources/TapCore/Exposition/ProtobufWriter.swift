/// Writes delimited `io.prometheus.client.MetricFamily` messages (client_model, `metrics.proto`).
struct ProtobufWriter: ExpositionWriter {
  var bytes: [UInt8] = []
  private var family: [UInt8] = []
  private var isCounter = false

  mutating func begin(_ descriptor: FamilyDescriptor, seriesCount: Int) {
    endFamily()
    isCounter = [.counter, .legacyCounter].contains(descriptor.type)
    family.append(descriptor.name.utf8, field: 1)
    if !descriptor.help.isEmpty { family.append(descriptor.help.utf8, field: 2) }
    let type: UInt64 =
      switch descriptor.type {
      case .counter, .legacyCounter: 0
      case .gauge, .info: 1
      case .histogram: 4
      }
    family.append(unsigned: type, field: 3)
    if let unit = descriptor.unit { family.append(unit.utf8, field: 5) }
  }

  mutating func number(_ value: Double, labels: RenderedLabels) {
    append(field: isCounter ? 3 : 2, labels) { $0.append(double: value, field: 1) }
  }

  mutating func histogram(_ values: ValueHistogram, labels: RenderedLabels) {
    append(field: 7, labels) { message in
      message.append(unsigned: values.count, field: 1)
      message.append(double: values.sum, field: 2)
      message.append(classicBucketsOf: values, bounds: values.layout.upperBounds + [.infinity])
      message.append(signed: Int64(values.native.schema), field: 5)
      message.append(double: NativeScale.zeroThreshold, field: 6)
      message.append(unsigned: values.native.zeroCount, field: 7)
      message.append(NativeSpans(values.native.negative), spanField: 9, deltaField: 10)
      message.append(NativeSpans(values.native.positive), spanField: 12, deltaField: 13)
    }
  }

  mutating func finish() { endFamily() }

  private mutating func endFamily() {
    if family.isEmpty { return }
    bytes.append(varint: UInt64(family.count))
    bytes += family
    family.removeAll(keepingCapacity: true)
  }

  /// A `Metric`, whose value is in that field.
  private mutating func append(field: Int, _ labels: RenderedLabels, _ value: (inout [UInt8]) -> Void) {
    family.append(messageIn: 4) { metric in
      for pair in labels.pairs { metric.append(label: pair.name, pair.value) }
      metric.append(messageIn: field, value)
    }
  }
}

/// The bytes of a message while it is made (Protocol Buffers, "Encoding").
extension [UInt8] {
  /// A number, seven bits a byte, the lowest first.
  fileprivate mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  private mutating func append(tag field: Int, wireType: Int) {
    append(varint: UInt64(field << 3 | wireType))
  }

  /// A string, or a message that is made already.
  fileprivate mutating func append(_ value: some Collection<UInt8>, field: Int) {
    append(tag: field, wireType: 2)
    append(varint: UInt64(value.count))
    self += value
  }

  fileprivate mutating func append(messageIn field: Int, _ write: (inout [UInt8]) -> Void) {
    var message: [UInt8] = []
    write(&message)
    append(message, field: field)
  }

  fileprivate mutating func append(double value: Double, field: Int) {
    append(tag: field, wireType: 1)
    Swift.withUnsafeBytes(of: value.bitPattern.littleEndian) { append(contentsOf: $0) }
  }

  /// Also `int64`, in two's complement.
  fileprivate mutating func append(unsigned value: UInt64, field: Int) {
    append(tag: field, wireType: 0)
    append(varint: value)
  }

  /// `sint32` and `sint64`: the sign is moved to the lowest bit.
  fileprivate mutating func append(signed value: Int64, field: Int) {
    append(unsigned: Self.zigZag(value), field: field)
  }

  private static func zigZag(_ value: Int64) -> UInt64 { UInt64(bitPattern: value << 1 ^ value >> 63) }

  /// `LabelPair`
  fileprivate mutating func append(label name: some Collection<UInt8>, _ value: some Collection<UInt8>) {
    append(messageIn: 1) { label in
      label.append(name, field: 1)
      label.append(value, field: 2)
    }
  }

  /// `google.protobuf.Timestamp`: the nanoseconds count forward, before 1970 too.
  fileprivate mutating func append(time: Timestamp, field: Int) {
    let (seconds, nanoseconds) = time.secondsAndNanoseconds
    append(messageIn: field) { message in
      message.append(unsigned: UInt64(bitPattern: seconds), field: 1)
      message.append(unsigned: UInt64(bitPattern: nanoseconds), field: 2)
    }
  }

  fileprivate mutating func append(classicBucketsOf values: ValueHistogram, bounds: [Double]) {
    var total: UInt64 = 0
    for (index, (bound, count)) in zip(bounds, values.counts).enumerated() {
      total &+= count
      append(messageIn: 3) { bucket in
        bucket.append(unsigned: total, field: 1)
        bucket.append(double: bound, field: 2)
        guard !values.exemplars.isEmpty, let exemplar = values.exemplars[index] else { return }
        bucket.append(messageIn: 3) { message in
          message.append(label: "trace_id".utf8, exemplar.trace.traceID.utf8)
          message.append(label: "span_id".utf8, exemplar.trace.spanID.utf8)
          message.append(double: exemplar.value, field: 2)
          message.append(time: exemplar.timestamp, field: 3)
        }
      }
    }
  }

  fileprivate mutating func append(_ spans: NativeSpans, spanField: Int, deltaField: Int) {
    if spans.spans.isEmpty { return }
    for span in spans.spans {
      append(messageIn: spanField) { message in
        message.append(signed: Int64(span.offset), field: 1)
        message.append(unsigned: UInt64(span.length), field: 2)
      }
    }
    append(messageIn: deltaField) { deltas in
      for delta in spans.deltas { deltas.append(varint: Self.zigZag(delta)) }
    }
  }
}

/// Native buckets as Prometheus transmits them: runs of consecutive buckets, and each count as the difference
/// from the one before.
struct NativeSpans {
  /// The first offset is the number of the first bucket, a later one is the gap since the run before.
  private(set) var spans: [(offset: Int, length: Int)] = []
  private(set) var deltas: [Int64] = []

  init(_ counts: NativeCounts) {
    var (next, previous): (Int, UInt64) = (0, 0)
    for entry in counts.entries {
      // Prometheus numbers a bucket by its upper bound, base^index.
      let index = entry.bucket + 1
      if spans.isEmpty || index != next { spans.append((index - next, 0)) }
      spans[spans.count - 1].length += 1
      deltas.append(Int64(bitPattern: entry.count &- previous))
      (next, previous) = (index + 1, entry.count)
    }
  }
}
