/// Writes the Prometheus text format 0.0.4 and OpenMetrics 1.0.
///
/// The formats have the same sample lines. They differ in the header of a family, and in what only
/// OpenMetrics has: units, exemplars and an end.
struct TextWriter: ExpositionWriter {
  var bytes: [UInt8] = []
  private let isOpenMetrics: Bool
  /// The start of the names of the family's samples.
  private var name: [UInt8] = []

  init(_ format: ExpositionFormat) { isOpenMetrics = format == .openMetrics }

  mutating func begin(_ family: FamilyDescriptor) {
    name = Array(family.name.utf8)
    if isOpenMetrics {
      bytes += "# TYPE \(family.baseName) \(family.type.rawValue)\n".utf8
      if let unit = family.unit { bytes += "# UNIT \(family.baseName) \(unit)\n".utf8 }
      appendHelp(family.help, name: family.baseName)
    } else {
      appendHelp(family.help, name: family.name)
      let type: MetricType =
        switch family.type {
        case .info: .gauge  // 0.0.4 has no info.
        case .legacyCounter: .counter
        case .counter, .gauge, .histogram: family.type
        }
      bytes += "# TYPE \(family.name) \(type.rawValue)\n".utf8
    }
  }

  /// 0.0.4 escapes the backslash and the line feed, OpenMetrics the double quote too.
  private mutating func appendHelp(_ help: String, name: String) {
    if help.isEmpty { return }
    bytes += "# HELP \(name) ".utf8
    bytes.append(escaping: help.utf8, quotes: isOpenMetrics)
    bytes.append(.lineFeed)
  }

  mutating func number(_ value: Double, labels: RenderedLabels) {
    append("", labels, FloatText.value(value))
  }

  mutating func histogram(_ values: ValueHistogram, labels: RenderedLabels) {
    let layout = values.layout
    var beginning = name
    beginning += "_bucket{".utf8
    beginning += labels.bytes
    beginning += (labels.bytes.isEmpty ? "le=\"" : ",le=\"").utf8
    var total: UInt64 = 0
    for (index, end) in layout.sampleEnds.enumerated() {
      total &+= values.counts[index]
      bytes += beginning
      bytes += end
      bytes.append(decimal: total)
      if isOpenMetrics, !values.exemplars.isEmpty, let exemplar = values.exemplars[index] {
        bytes += Self.text(of: exemplar).utf8
      }
      bytes.append(.lineFeed)
    }
    // In OpenMetrics the sum is a counter ("Histogram"). With values below 0 it could go down: then neither
    // it nor the count, which must not stand alone, is written.
    if !isOpenMetrics || values.sum >= 0 && !layout.upperBounds.contains(where: { $0 < 0 }) {
      append("_sum", labels, FloatText.value(values.sum))
      append("_count", labels, String(total))
    }
  }

  /// The end of a bucket's line: ` # {trace_id="…",span_id="…"} value time`. Both are hexadecimal digits,
  /// which need no escaping, and far below the 128 characters that OpenMetrics allows ("Exemplars").
  private static func text(of exemplar: Exemplar) -> String {
    let labels = "{trace_id=\"\(exemplar.trace.traceID)\",span_id=\"\(exemplar.trace.spanID)\"}"
    let value = FloatText.value(exemplar.value)
    return " # \(labels) \(value) \(FloatText.seconds(exemplar.timestamp))"
  }

  /// One line: `name{labels} value`.
  private mutating func append(_ suffix: String, _ labels: RenderedLabels, _ value: String) {
    bytes += name
    bytes += suffix.utf8
    if !labels.bytes.isEmpty {
      bytes.append(UInt8(ascii: "{"))
      bytes += labels.bytes
      bytes.append(UInt8(ascii: "}"))
    }
    bytes.append(.space)
    bytes += value.utf8
    bytes.append(.lineFeed)
  }

  mutating func finish() {
    if isOpenMetrics { bytes += "# EOF\n".utf8 }
  }
}

extension [UInt8] {
  /// Escapes as both text formats do in the value of a label.
  mutating func append(escaping text: some Sequence<UInt8>, quotes: Bool = true) {
    for byte in text {
      switch byte {
      case .lineFeed: self += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
      case UInt8(ascii: "\"") where !quotes: append(byte)
      case UInt8(ascii: "\\"), UInt8(ascii: "\""): self += [UInt8(ascii: "\\"), byte]
      default: append(byte)
      }
    }
  }
}

extension [UInt8] {
  /// A `String` for each bucket takes longer than the rest of its line.
  fileprivate mutating func append(decimal number: UInt64) {
    if number >= 10 { append(decimal: number / 10) }
    append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
  }
}

/// Numbers as Prometheus writes and reads them.
enum FloatText {
  /// The shortest text that reads back as the same value, without an empty fraction.
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
    // Before 1970 the two parts would have different signs; no clock of a server is there.
    return "\(max(0, seconds)).\(String(1_000 + nanoseconds / 1_000_000).dropFirst())"
  }

  /// The value of `le`. It is part of a series' identity, so it must read as Prometheus itself makes it from
  /// a protobuf bound: shortest digits, an exponent below 10^-4 and from 10^6 on, and always a point or an
  /// exponent (`1.0`, `2.68435456e+08`).
  static func bound(_ value: Double) -> String {
    guard value.isFinite else { return self.value(value) }
    guard value != 0 else { return "0.0" }
    let text = value.magnitude.description
    let sign = value < 0 ? "-" : ""
    // Swift's own text differs only in that it has no exponent from 10^6 to 2^54.
    guard value.magnitude >= 1e6, !text.contains("e") else { return sign + text }
    let exponent = text.prefix { $0 != "." }.count - 1
    var digits = text.filter { $0 != "." }
    while digits.last == "0" { digits.removeLast() }
    if digits.count > 1 { digits.insert(".", at: digits.index(after: digits.startIndex)) }
    return "\(sign)\(digits)e+\(exponent < 10 ? "0" : "")\(exponent)"
  }
}
