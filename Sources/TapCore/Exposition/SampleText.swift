/// The sample lines of one family, as both text formats write them.
struct SampleText {
  private let name: [UInt8]
  private let bucketName: [UInt8]
  /// Used again for each series.
  private var reading = HistogramReading()

  init(name: String = "") {
    self.name = Array(name.utf8)
    bucketName = Array("\(name)_bucket{".utf8)
  }

  /// One line: `name{labels} value`.
  func append(_ value: Double, labels: RenderedLabels, suffix: String = "", to bytes: inout [UInt8]) {
    append(FloatText.value(value), labels: labels, suffix: suffix, to: &bytes)
  }

  /// One line whose value is a time.
  func append(_ time: Timestamp, labels: RenderedLabels, suffix: String, to bytes: inout [UInt8]) {
    append(FloatText.seconds(time), labels: labels, suffix: suffix, to: &bytes)
  }

  /// The lines of a histogram: `_bucket` for each bound, `_sum`, `_count`.
  mutating func append(
    _ histogram: Histogram, labels: RenderedLabels, format: ExpositionFormat, to bytes: inout [UInt8]
  ) {
    let layout = histogram.layout
    histogram.read(format == .openMetrics ? .classicAndExemplars : .classic, into: &reading)
    let exemplars = reading.exemplars.map { $0.map { Self.text(of: $0) } ?? [] }
    var total: UInt64 = 0
    bytes.append(atMost: maximumLength(of: layout, labels: labels, exemplars: exemplars)) { cursor in
      cursor.write(bucketName)
      if !labels.bytes.isEmpty {
        cursor.write(labels.bytes)
        cursor.write(UInt8(ascii: ","))
      }
      cursor.write(Self.le)
      let beginning = 0..<cursor.count
      for index in reading.counts.indices {
        if index > 0 { cursor.repeatBytes(in: beginning) }
        total &+= reading.counts[index]
        cursor.write(layout.sampleEnds[index])
        cursor.write(decimal: total)
        if !exemplars.isEmpty { cursor.write(exemplars[index]) }
        cursor.write(UInt8(ascii: "\n"))
      }
    }
    // OpenMetrics takes the sum for a counter, which values below 0 would make go down ("Histogram"): neither it
    // nor the count, which must not stand alone, may appear then.
    if format == .openMetrics, !(reading.sum >= 0) || layout.upperBounds.contains(where: { $0 < 0 }) {
      return
    }
    append(reading.sum, labels: labels, suffix: "_sum", to: &bytes)
    append(String(total), labels: labels, suffix: "_count", to: &bytes)
  }

  private static let le = Array("le=\"".utf8)
  private static let maximumDigits = 20

  private func maximumLength(
    of layout: BucketLayout, labels: RenderedLabels, exemplars: [[UInt8]]
  ) -> Int {
    let line = bucketName.count + labels.bytes.count + 1 + Self.le.count + Self.maximumDigits + 1
    return layout.bucketCount * line + layout.sampleEndsLength + exemplars.reduce(0) { $0 + $1.count }
  }

  /// What follows a bucket's value: ` # {trace_id="…",span_id="…"} value time`. Both are hexadecimal digits,
  /// which need no escaping, and far below the 128 characters that OpenMetrics allows ("Exemplars").
  private static func text(of exemplar: Exemplar) -> [UInt8] {
    let labels = "{trace_id=\"\(exemplar.trace.traceID)\",span_id=\"\(exemplar.trace.spanID)\"}"
    let value = FloatText.value(exemplar.value)
    return Array(" # \(labels) \(value) \(FloatText.seconds(exemplar.timestamp))".utf8)
  }

  private func append(
    _ value: String, labels: RenderedLabels, suffix: String, to bytes: inout [UInt8]
  ) {
    bytes.append(contentsOf: name)
    bytes.append(contentsOf: suffix.utf8)
    if !labels.bytes.isEmpty {
      bytes.append(UInt8(ascii: "{"))
      bytes.append(contentsOf: labels.bytes)
      bytes.append(UInt8(ascii: "}"))
    }
    bytes.append(UInt8(ascii: " "))
    bytes.append(contentsOf: value.utf8)
    bytes.append(UInt8(ascii: "\n"))
  }
}
