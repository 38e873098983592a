/// Writes the Prometheus text format 0.0.4 and OpenMetrics 1.0.
///
/// The formats have the same sample lines. They differ in the header of a family, and in what only OpenMetrics has: units,
/// exemplars, an end and, if asked for, the time when each series began.
final class TextWriter: ExpositionWriter {
  /// An array: a debug build appends it at once, and any other sequence byte by byte.
  private static let zeros = [UInt8](repeating: 0, count: 4_096)

  /// What has been written, and up to the end zeros in its place, which the next samples are written over.
  var bytes: [UInt8] = []
  /// How many of them have been written.
  private var count = 0
  private let isOpenMetrics: Bool
  private let writesCreated: Bool
  /// What the samples of the family begin with, and the times when its series began.
  private var name: [UInt8] = []
  private var createdName: [UInt8] = []
  /// The histogram that is written, in one memory for all of them.
  private var snapshot = HistogramSnapshot()

  init(_ format: ExpositionFormat, createdSamples: Bool) {
    isOpenMetrics = format == .openMetrics
    writesCreated = isOpenMetrics && createdSamples
  }

  func begin(_ family: FamilyDescriptor) {
    name = Array(family.name.utf8)
    createdName = Array((family.baseName + "_created").utf8)
    if isOpenMetrics {
      append("# TYPE \(family.baseName) \(family.type.rawValue)\n")
      if let unit = family.unit { append("# UNIT \(family.baseName) \(unit)\n") }
      appendHelp(family.help, name: family.baseName)
    } else {
      appendHelp(family.help, name: family.name)
      // 0.0.4 has no info.
      append("# TYPE \(family.name) \((family.type == .info ? .gauge : family.type).rawValue)\n")
    }
  }

  func number(_ value: Double, labels: RenderedLabels, created: Timestamp?) {
    append(name, labels, FloatText.value(value))
    if let created { append(created, labels) }
  }

  func histogram(_ histogram: Registry.Histogram, labels: RenderedLabels, created: Timestamp) {
    let layout = histogram.layout
    histogram.read(into: &snapshot, native: false, exemplars: isOpenMetrics)
    let exemplars = snapshot.exemplars.map { $0.map(Self.text) ?? [] }
    // OpenMetrics takes the sum for a counter, which values below 0 would make go down ("Histogram"): neither it
    // nor the count, which must not stand alone, may appear then.
    let hasSum = !isOpenMetrics || snapshot.sum >= 0 && !layout.upperBounds.contains { $0 < 0 }
    let sum = FloatText.value(snapshot.sum)
    // A line's punctuation and its number have at most 40 characters.
    let capacity =
      (layout.bucketCount + 2) * (name.count + labels.bytes.count + 40) + layout.sampleEndsLength
      + exemplars.reduce(0) { $0 + $1.count }
    let (name, counts, sampleEnds) = (name, snapshot.counts, layout.sampleEnds)
    append(atMost: capacity) { text in
      text.append(name)
      text.append("_bucket{")
      text.append(labels.bytes)
      text.append(labels.bytes.isEmpty ? "le=\"" : ",le=\"")
      let beginning = text.count
      var total: UInt64 = 0
      for index in counts.indices {
        if index > 0 { text.repeatBeginning(beginning) }
        total &+= counts[index]
        text.append(sampleEnds[index])
        text.integer(total)
        if !exemplars.isEmpty { text.append(exemplars[index]) }
        text.append("\n")
      }
      guard hasSum else { return }
      Self.write(name, "_sum", labels, to: &text) { $0.append(text: sum) }
      Self.write(name, "_count", labels, to: &text) { $0.integer(total) }
    }
    append(created, labels)
  }

  func finish() {
    if isOpenMetrics { append("# EOF\n") }
    bytes.removeLast(bytes.count - count)
  }

  /// The end of a bucket's line: ` # {trace_id="…",span_id="…"} value time`. Both are hexadecimal digits,
  /// which need no escaping, and far below the 128 characters that OpenMetrics allows ("Exemplars").
  private static func text(of exemplar: Exemplar) -> [UInt8] {
    let labels = "{trace_id=\"\(exemplar.trace.traceID)\",span_id=\"\(exemplar.trace.spanID)\"}"
    let value = FloatText.value(exemplar.value)
    return Array(" # \(labels) \(value) \(FloatText.seconds(exemplar.timestamp))".utf8)
  }

  private func append(_ created: Timestamp, _ labels: RenderedLabels) {
    if writesCreated { append(createdName, labels, FloatText.seconds(created)) }
  }

  private func append(_ name: [UInt8], _ labels: RenderedLabels, _ value: String) {
    append(atMost: name.count + labels.bytes.count + value.utf8.count + 4) { text in
      Self.write(name, "", labels, to: &text) { $0.append(text: value) }
    }
  }

  /// Appends what `body` writes: nothing is checked for each piece but its length.
  @inline(__always)
  private func append(atMost capacity: Int, _ body: (inout ByteWriter) -> Void) {
    let start = count
    while bytes.count - start < capacity { bytes += Self.zeros }
    count = bytes.withUnsafeMutableBufferPointer { memory in
      guard let base = memory.baseAddress else { return start }
      var text = ByteWriter(base + start, capacity: memory.count - start)
      body(&text)
      return start + text.count
    }
  }

  /// One line: `name{labels} value`.
  @inline(__always)
  private static func write(
    _ name: [UInt8], _ suffix: StaticString, _ labels: RenderedLabels, to text: inout ByteWriter,
    value: (inout ByteWriter) -> Void
  ) {
    text.append(name)
    text.append(suffix)
    if !labels.bytes.isEmpty {
      text.append("{")
      text.append(labels.bytes)
      text.append("}")
    }
    text.append(" ")
    value(&text)
    text.append("\n")
  }

  private func append(_ text: String) { append(atMost: text.utf8.count) { $0.append(text: text) } }

  /// 0.0.4 escapes the backslash and the line feed, OpenMetrics the double quote too.
  private func appendHelp(_ help: String, name: String) {
    if help.isEmpty { return }
    append("# HELP \(name) ")
    var escaped: [UInt8] = []
    escaped.append(escaping: help.utf8, quotes: isOpenMetrics)
    append(atMost: escaped.count + 1) { text in
      text.append(escaped)
      text.append("\n")
    }
  }
}

extension [UInt8] {
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
