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

  /// Writes the lines of the buckets and returns the number of values.
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

  /// The end of a bucket's line: ` # {trace_id="…",span_id="…"} value time`. Both are hexadecimal digits,
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

/// Numbers as Prometheus writes and reads them.
enum FloatText {
  /// The shortest text that reads back as the same value, without a fraction where there is none.
  static func value(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    // Beyond 2^53 not every whole number is a value, and the shortest text has an exponent.
    if value.magnitude < 0x1p53, value == value.rounded(.towardZero) { return String(Int64(value)) }
    return value.description
  }

  /// Seconds since 1970, to the millisecond.
  static func seconds(_ time: Timestamp) -> String {
    let (seconds, nanoseconds) = time.secondsAndNanoseconds
    let digits = String(nanoseconds / 1_000_000)
    // Before 1970 the two parts would have different signs; no clock of a server is there.
    return String(max(0, seconds)) + "." + String(repeating: "0", count: 3 - digits.count) + digits
  }

  /// The value of `le`. It is part of a series' identity, so it must read as Prometheus itself makes it from a
  /// protobuf bound: shortest digits, an exponent below 10^-4 and from 10^6 on, and always a point or an
  /// exponent (`1.0`, `2.68435456e+08`).
  static func bound(_ value: Double) -> String {
    guard value.isFinite else { return self.value(value) }
    guard value != 0 else { return "0.0" }
    let (digits, exponent) = decimal(value.magnitude)
    let sign = value < 0 ? "-" : ""
    if !(-4..<6).contains(exponent) {
      let fraction = digits.count > 1 ? "." + digits.dropFirst() : ""
      let magnitude = String(exponent.magnitude)
      let padded = magnitude.count < 2 ? "0" + magnitude : magnitude
      return sign + digits.prefix(1) + fraction + "e" + (exponent < 0 ? "-" : "+") + padded
    }
    if exponent < 0 {
      return sign + "0." + String(repeating: "0", count: -exponent - 1) + digits
    }
    let whole = digits.prefix(exponent + 1)
    let fraction = digits.dropFirst(exponent + 1)
    return sign + whole + String(repeating: "0", count: exponent + 1 - whole.count) + "."
      + (fraction.isEmpty ? "0" : fraction)
  }

  /// The shortest digits of a positive value, `d.ddd`, and the exponent of ten.
  private static func decimal(_ value: Double) -> (digits: String, exponent: Int) {
    let parts = value.description.split(separator: "e")
    var exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
    let mantissa = parts[0].split(separator: ".", omittingEmptySubsequences: false)
    var digits = String(mantissa[0]) + (mantissa.count > 1 ? mantissa[1] : "")
    exponent += mantissa[0].count - 1
    while digits.first == "0", digits.count > 1 {
      digits.removeFirst()
      exponent -= 1
    }
    while digits.last == "0", digits.count > 1 { digits.removeLast() }
    return (digits, exponent)
  }
}
