/// Writes the Prometheus text format 0.0.4 and OpenMetrics 1.0.
///
/// The formats have the same sample lines. They differ in the header of a family, and in what only
/// OpenMetrics has: units, exemplars and an end.
struct TextWriter: ExpositionWriter {
  var bytes: [UInt8] = []
  private let isOpenMetrics: Bool
  /// The start of the names of the family's samples.
  private var name: [UInt8] = []
  /// The lines of the current histogram, in memory that all histograms use in turn.
  private var lines: [UInt8] = []
  /// Whether the exposition is one piece, and how many series of the family have no reserved memory yet.
  private let isWhole: Bool
  private var newSeriesCount = 0

  init(_ format: ExpositionFormat, isWhole: Bool) {
    (isOpenMetrics, self.isWhole) = (format == .openMetrics, isWhole)
  }

  mutating func begin(_ family: FamilyDescriptor, seriesCount: Int) {
    if isWhole { newSeriesCount = seriesCount }
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
    let exemplars = isOpenMetrics ? values.exemplars.map { $0.map(Self.text) ?? [] } : []
    // In OpenMetrics the sum is a counter ("Histogram"). With values below 0 it could go down: then neither
    // it nor the count, which must not stand alone, is written.
    let hasSum = !isOpenMetrics || values.sum >= 0 && !layout.upperBounds.contains { $0 < 0 }
    // A line's punctuation and its number have at most 40 characters.
    let capacity =
      layout.bucketCount * (name.count + labels.bytes.count + 40) + layout.sampleEnds.count
      + exemplars.reduce(0) { $0 + $1.count }
    if lines.count < capacity { lines = [UInt8](repeating: 0, count: capacity) }
    let (name, ends, bounds) = (name, layout.sampleEnds, layout.sampleEndBounds)
    var total: UInt64 = 0
    let length = lines.withUnsafeMutableBufferPointer { memory in
      var lines = Lines(memory: memory)
      lines.append(name)
      lines.append("_bucket{")
      lines.append(labels.bytes)
      lines.append(labels.bytes.isEmpty ? "le=\"" : ",le=\"")
      let beginning = lines.count
      for index in values.counts.indices {
        if index > 0 { lines.repeatBeginning(beginning) }
        total &+= values.counts[index]
        lines.append(ends, from: bounds[index], to: bounds[index &+ 1])
        lines.append(decimal: total)
        if !exemplars.isEmpty { lines.append(exemplars[index]) }
        lines.append("\n")
      }
      return lines.count
    }
    let start = bytes.count
    bytes += lines[..<length]
    if hasSum {
      append("_sum", labels, FloatText.value(values.sum))
      append("_count", labels, String(total))
    }
    reserve(bytes.count - start)
  }

  /// Reserves memory for a whole family when its first series is written: growing by doubling copies an
  /// exposition twice.
  private mutating func reserve(_ seriesLength: Int) {
    let length = bytes.count + seriesLength * newSeriesCount * 5 / 4
    if length > bytes.capacity { bytes.reserveCapacity(max(length, 2 * bytes.capacity)) }
    newSeriesCount = 0
  }

  /// The end of a bucket's line: ` # {trace_id="…",span_id="…"} value time`. Both are hexadecimal digits,
  /// which need no escaping, and far below the 128 characters that OpenMetrics allows ("Exemplars").
  private static func text(of exemplar: Exemplar) -> [UInt8] {
    let labels = "{trace_id=\"\(exemplar.trace.traceID)\",span_id=\"\(exemplar.trace.spanID)\"}"
    let value = FloatText.value(exemplar.value)
    return Array(" # \(labels) \(value) \(FloatText.seconds(exemplar.timestamp))".utf8)
  }

  /// One line: `name{labels} value`.
  private mutating func append(_ suffix: StaticString, _ labels: RenderedLabels, _ value: String) {
    bytes += name
    bytes += UnsafeBufferPointer(start: suffix.utf8Start, count: suffix.utf8CodeUnitCount)
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

  /// The lines of one histogram while they are written: memory that is never written past its end. Appending
  /// each piece to an array takes three times as long.
  private struct Lines {
    let memory: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    init(memory: UnsafeMutableBufferPointer<UInt8>) { self.memory = memory }

    @inline(__always) private mutating func append(_ source: UnsafePointer<UInt8>?, count length: Int) {
      guard let source, let memory = memory.baseAddress, length <= self.memory.count - count else { return }
      (memory + count).update(from: source, count: length)
      count += length
    }

    @inline(__always) mutating func append(_ bytes: [UInt8]) {
      bytes.withUnsafeBufferPointer { append($0.baseAddress, count: $0.count) }
    }

    @inline(__always) mutating func append(_ bytes: [UInt8], from start: Int, to end: Int) {
      bytes.withUnsafeBufferPointer { append($0.baseAddress.map { $0 + start }, count: end &- start) }
    }

    @inline(__always)
    mutating func append(_ text: StaticString) { append(text.utf8Start, count: text.utf8CodeUnitCount) }

    @inline(__always)
    mutating func repeatBeginning(_ length: Int) { append(memory.baseAddress, count: min(length, count)) }

    @inline(__always) mutating func append(decimal number: UInt64) {
      var length = 1
      var bound: UInt64 = 10
      while length < 20, number >= bound { (length, bound) = (length &+ 1, bound &* 10) }
      guard length <= memory.count &- count else { return }
      count &+= length
      var rest = number
      var index = count
      for _ in 0..<length {
        index &-= 1
        memory[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      }
    }
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
