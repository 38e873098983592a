/// Writes the Prometheus text format 0.0.4 and OpenMetrics 1.0.
///
/// The formats have the same sample lines. They differ in the header of a family, in the names of its samples, and in what
/// only OpenMetrics has: units, exemplars, the time when a series began, and an end.
struct TextWriter: ExpositionWriter {
  private let isOpenMetrics: Bool
  private var bytes = ByteBuffer()
  private var samples = SampleText()
  /// The suffix of sample names by OpenMetrics.
  private var sampleSuffix = ""
  /// The place of a family's header, which is removed again if no sample follows.
  private var header = 0..<0

  init(_ format: ExpositionFormat) {
    isOpenMetrics = format == .openMetrics
  }

  mutating func start(in buffer: inout [UInt8]) {
    bytes.start(in: &buffer)
  }

  mutating func begin(_ family: FamilyDescriptor) {
    dropHeaderWithoutSamples()
    let start = bytes.count
    if isOpenMetrics {
      let name = family.baseName
      samples = SampleText(name: name)
      bytes.append("# TYPE \(name) \(family.type.rawValue)\n")
      if let unit = family.unit { bytes.append("# UNIT \(name) \(unit)\n") }
      appendHelp(family.help, name: name)
      sampleSuffix =
        switch family.type {
        case .counter: "_total"
        case .info: "_info"
        case .gauge, .histogram: ""
        }
    } else {
      samples = SampleText(name: family.name)
      appendHelp(family.help, name: family.name)
      // 0.0.4 has no info.
      let type = family.type == .info ? MetricType.gauge : family.type
      bytes.append("# TYPE \(family.name) \(type.rawValue)\n")
    }
    header = start..<bytes.count
  }

  mutating func counter(_ value: Double, labels: RenderedLabels, created: Timestamp?) {
    samples.append(value, labels: labels, suffix: sampleSuffix, to: &bytes)
    if let created { append(created, labels: labels) }
  }

  mutating func gauge(_ value: Double, labels: RenderedLabels) {
    samples.append(value, labels: labels, suffix: sampleSuffix, to: &bytes)
  }

  mutating func histogram(_ histogram: Registry.Histogram, labels: RenderedLabels, created: Timestamp) {
    samples.append(histogram, labels: labels, format: isOpenMetrics ? .openMetrics : .text, to: &bytes)
    append(created, labels: labels)
  }

  mutating func finish(into buffer: inout [UInt8]) {
    dropHeaderWithoutSamples()
    if isOpenMetrics { bytes.append("# EOF\n") }
    bytes.finish(into: &buffer)
  }

  private mutating func append(_ created: Timestamp, labels: RenderedLabels) {
    if isOpenMetrics { samples.append(created, labels: labels, suffix: "_created", to: &bytes) }
  }

  /// 0.0.4 escapes the backslash and the line feed, OpenMetrics the double quote too.
  private mutating func appendHelp(_ help: String, name: String) {
    if help.isEmpty { return }
    bytes.append("# HELP \(name) ")
    for byte in help.utf8 {
      switch byte {
      case UInt8(ascii: "\\"): bytes.append("\\\\")
      case UInt8(ascii: "\n"): bytes.append("\\n")
      case UInt8(ascii: "\"") where isOpenMetrics: bytes.append("\\\"")
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\n"))
  }

  private mutating func dropHeaderWithoutSamples() {
    if bytes.count == header.upperBound { bytes.removeLast(header.count) }
    header = 0..<0
  }
}
