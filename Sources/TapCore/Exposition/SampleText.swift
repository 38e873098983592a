/// The sample lines of one family, as both text formats write them.
///
/// A class, so that writing a series copies none of the arrays.
final class SampleText {
  private let name: [UInt8]
  private let bucketName: [UInt8]
  /// Used again for each series.
  private var reading = HistogramReading()

  init(name: String = "") {
    self.name = Array(name.utf8)
    bucketName = Array("\(name)_bucket{".utf8)
  }

  /// One line: `name{labels} value`.
  func append(_ value: Double, labels: RenderedLabels, suffix: String = "", to bytes: inout ByteBuffer) {
    append(FloatText.value(value), labels: labels, suffix: suffix, to: &bytes)
  }

  /// One line whose value is a time.
  func append(_ time: Timestamp, labels: RenderedLabels, suffix: String, to bytes: inout ByteBuffer) {
    append(FloatText.seconds(time), labels: labels, suffix: suffix, to: &bytes)
  }

  /// The lines of a histogram: `_bucket` for each bound, `_sum`, `_count`.
  func append(
    _ histogram: Registry.Histogram, labels: RenderedLabels, format: ExpositionFormat,
    to bytes: inout ByteBuffer
  ) {
    let layout = histogram.layout
    histogram.read(format == .openMetrics ? .classicAndExemplars : .classic, into: &reading)
    let exemplars = reading.exemplars.map { $0.map { Self.text(of: $0) } ?? [] }
    // OpenMetrics takes the sum for a counter, which values below 0 would make go down ("Histogram"): neither it
    // nor the count, which must not stand alone, may appear then.
    let hasSum =
      format != .openMetrics || reading.sum >= 0 && !layout.upperBounds.contains { $0 < 0 }
    let sum = FloatText.value(reading.sum)
    bytes.append(atMost: maximumLength(of: layout, labels: labels, exemplars: exemplars)) { cursor in
      let total = writeBuckets(layout, labels, exemplars, to: &cursor)
      guard hasSum else { return }
      writeBeginning("_sum", labels, to: &cursor)
      cursor.write(sum)
      cursor.write(UInt8(ascii: "\n"))
      writeBeginning("_count", labels, to: &cursor)
      cursor.write(decimal: total)
      cursor.write(UInt8(ascii: "\n"))
    }
  }

  /// Writes the lines of the buckets and gives the number of values.
  private func writeBuckets(
    _ layout: BucketLayout, _ labels: RenderedLabels, _ exemplars: [[UInt8]], to cursor: inout ByteCursor
  ) -> UInt64 {
    var total: UInt64 = 0
    let start = cursor.count
    cursor.write(bucketName)
    if !labels.bytes.isEmpty {
      cursor.write(labels.bytes)
      cursor.write(UInt8(ascii: ","))
    }
    cursor.write(Self.le)
    let beginning = start..<cursor.count
    for index in reading.counts.indices {
      if index > 0 { cursor.repeatBytes(in: beginning) }
      total &+= reading.counts[index]
      cursor.write(layout.sampleEnds[index])
      cursor.write(decimal: total)
      if !exemplars.isEmpty { cursor.write(exemplars[index]) }
      cursor.write(UInt8(ascii: "\n"))
    }
    return total
  }

  private func writeBeginning(
    _ suffix: String, _ labels: RenderedLabels, to cursor: inout ByteCursor
  ) {
    cursor.write(name)
    cursor.write(suffix)
    if !labels.bytes.isEmpty {
      cursor.write(UInt8(ascii: "{"))
      cursor.write(labels.bytes)
      cursor.write(UInt8(ascii: "}"))
    }
    cursor.write(UInt8(ascii: " "))
  }

  private static let le = Array("le=\"".utf8)
  private static let maximumDigits = 20
  /// The suffix, the punctuation and the longest number, twice.
  private static let maximumEnds = 2 * 64

  private func maximumLength(
    of layout: BucketLayout, labels: RenderedLabels, exemplars: [[UInt8]]
  ) -> Int {
    let line = bucketName.count + labels.bytes.count + 1 + Self.le.count + Self.maximumDigits + 1
    return (layout.bucketCount + 2) * line + layout.sampleEndsLength + Self.maximumEnds
      + exemplars.reduce(0) { $0 + $1.count }
  }

  /// What follows a bucket's value: ` # {trace_id="…",span_id="…"} value time`. Both are hexadecimal digits,
  /// which need no escaping, and far below the 128 characters that OpenMetrics allows ("Exemplars").
  private static func text(of exemplar: Exemplar) -> [UInt8] {
    let labels = "{trace_id=\"\(exemplar.trace.traceID)\",span_id=\"\(exemplar.trace.spanID)\"}"
    let value = FloatText.value(exemplar.value)
    return Array(" # \(labels) \(value) \(FloatText.seconds(exemplar.timestamp))".utf8)
  }

  private func append(
    _ value: String, labels: RenderedLabels, suffix: String, to bytes: inout ByteBuffer
  ) {
    let length = name.count + suffix.utf8.count + labels.bytes.count + value.utf8.count + 4
    bytes.append(atMost: length) { cursor in
      writeBeginning(suffix, labels, to: &cursor)
      cursor.write(value)
      cursor.write(UInt8(ascii: "\n"))
    }
  }
}
