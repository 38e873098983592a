/// Writes the Prometheus text format 0.0.4 and OpenMetrics 1.0.
///
/// The formats have the same sample lines. They differ in the header of a family, and in what only
/// OpenMetrics has: units, exemplars, an end and, if asked for, the time when each series began.
struct TextWriter: ExpositionWriter {
  var bytes: [UInt8] = []
  private let isOpenMetrics: Bool
  private let writesCreated: Bool
  /// What the samples of the family begin with, and the times when its series began.
  private var name: [UInt8] = []
  private var createdName: [UInt8] = []

  init(_ format: ExpositionFormat, createdSamples: Bool) {
    isOpenMetrics = format == .openMetrics
    writesCreated = isOpenMetrics && createdSamples
  }

  mutating func begin(_ family: FamilyDescriptor) {
    name = Array(family.name.utf8)
    createdName = Array((family.baseName + "_created").utf8)
    if isOpenMetrics {
      bytes += "# TYPE \(family.baseName) \(family.type.rawValue)\n".utf8
      if let unit = family.unit { bytes += "# UNIT \(family.baseName) \(unit)\n".utf8 }
      appendHelp(family.help, name: family.baseName)
    } else {
      appendHelp(family.help, name: family.name)
      // 0.0.4 has no info.
      bytes += "# TYPE \(family.name) \((family.type == .info ? .gauge : family.type).rawValue)\n".utf8
    }
  }

  /// 0.0.4 escapes the backslash and the line feed, OpenMetrics the double quote too.
  private mutating func appendHelp(_ help: String, name: String) {
    if help.isEmpty { return }
    bytes += "# HELP \(name) ".utf8
    bytes.append(escaping: help.utf8, quotes: isOpenMetrics)
    bytes.append(UInt8(ascii: "\n"))
  }

  mutating func number(_ value: Double, labels: RenderedLabels, created: Timestamp?) {
    append(name, [], labels, FloatText.value(value))
    if writesCreated, let created { append(createdName, [], labels, FloatText.seconds(created)) }
  }

  mutating func histogram(_ values: ValueHistogram, labels: RenderedLabels, created: Timestamp) {
    var beginning = name
    beginning += Self.bucket
    beginning += labels.bytes
    beginning += labels.bytes.isEmpty ? Self.firstBound : Self.nextBound
    var total: UInt64 = 0
    // By their memory: arrays that are appended are retained for each line.
    beginning.withUnsafeBufferPointer { beginning in
      values.layout.sampleEnds.withUnsafeBufferPointer { ends in
        let bounds = values.layout.sampleEndBounds
        for index in values.counts.indices {
          total &+= values.counts[index]
          bytes.append(contentsOf: beginning)
          bytes.append(contentsOf: UnsafeBufferPointer(rebasing: ends[bounds[index]..<bounds[index + 1]]))
          bytes.append(decimal: total)
          if isOpenMetrics, !values.exemplars.isEmpty, let exemplar = values.exemplars[index] {
            append(exemplar)
          }
          bytes.append(UInt8(ascii: "\n"))
        }
      }
    }
    // OpenMetrics takes the sum for a counter, which values below 0 would make go down ("Histogram"): neither it
    // nor the count, which must not stand alone, may appear then.
    if !isOpenMetrics || values.sum >= 0 && !values.layout.upperBounds.contains(where: { $0 < 0 }) {
      append(name, Self.sum, labels, FloatText.value(values.sum))
      append(name, Self.count, labels, String(total))
    }
    if writesCreated { append(createdName, [], labels, FloatText.seconds(created)) }
  }

  private static let bucket = Array("_bucket{".utf8)
  private static let firstBound = Array("le=\"".utf8)
  private static let nextBound = Array(",le=\"".utf8)
  private static let sum = Array("_sum".utf8)
  private static let count = Array("_count".utf8)

  /// The end of a bucket's line: ` # {trace_id="…",span_id="…"} value time`. Both are hexadecimal digits,
  /// which need no escaping, and far below the 128 characters that OpenMetrics allows ("Exemplars").
  private mutating func append(_ exemplar: Exemplar) {
    let labels = "{trace_id=\"\(exemplar.trace.traceID)\",span_id=\"\(exemplar.trace.spanID)\"}"
    let value = FloatText.value(exemplar.value)
    bytes += " # \(labels) \(value) \(FloatText.seconds(exemplar.timestamp))".utf8
  }

  /// One line: `name{labels} value`.
  private mutating func append(
    _ name: [UInt8], _ suffix: [UInt8], _ labels: RenderedLabels, _ value: String
  ) {
    bytes += name
    bytes += suffix
    if !labels.bytes.isEmpty {
      bytes.append(UInt8(ascii: "{"))
      bytes += labels.bytes
      bytes.append(UInt8(ascii: "}"))
    }
    bytes.append(UInt8(ascii: " "))
    bytes += value.utf8
    bytes.append(UInt8(ascii: "\n"))
  }

  mutating func finish() {
    if isOpenMetrics { bytes += "# EOF\n".utf8 }
  }
}

extension [UInt8] {
  /// Digit by digit: of a `String`, each byte takes three times as long.
  fileprivate mutating func append(decimal number: UInt64) {
    var divisor: UInt64 = 1
    while number / divisor >= 10 { divisor *= 10 }
    while divisor > 0 {
      append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
      divisor /= 10
    }
  }

  /// Escapes as both text formats do in the value of a label.
  mutating func append(escaping text: some Sequence<UInt8>, quotes: Bool = true) {
    for byte in text {
      switch byte {
      case UInt8(ascii: "\n"): self += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
      case UInt8(ascii: "\"") where !quotes: append(byte)
      case UInt8(ascii: "\\"), UInt8(ascii: "\""): self += [UInt8(ascii: "\\"), byte]
      default: append(byte)
      }
    }
  }
}
