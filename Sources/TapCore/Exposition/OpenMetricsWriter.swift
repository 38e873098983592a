/// Writes OpenMetrics 1.0.
struct OpenMetricsWriter: ExpositionWriter {
  private var bytes = ByteBuffer()
  private var samples = SampleText()
  /// Where the header of the family stands that has no sample yet.
  private var header = 0..<0

  mutating func start(in buffer: inout [UInt8]) {
    bytes.start(in: &buffer)
  }

  mutating func begin(_ family: FamilyDescriptor) {
    dropHeaderWithoutSamples()
    let start = bytes.count
    let name = family.baseName
    samples = SampleText(name: name)
    bytes.append("# TYPE \(name) \(family.type.rawValue)\n")
    if let unit = family.unit { bytes.append("# UNIT \(name) \(unit)\n") }
    if !family.help.isEmpty {
      bytes.append("# HELP \(name) ")
      bytes.append(escapedHelp: family.help, quotes: true)
      bytes.append(UInt8(ascii: "\n"))
    }
    sampleSuffix =
      switch family.type {
      case .counter: "_total"
      case .info: "_info"
      case .gauge, .histogram: ""
      }
    header = start..<bytes.count
  }

  mutating func counter(_ value: Double, labels: RenderedLabels, created: Timestamp?) {
    samples.append(value, labels: labels, suffix: sampleSuffix, to: &bytes)
    if let created { samples.append(created, labels: labels, suffix: "_created", to: &bytes) }
  }

  mutating func gauge(_ value: Double, labels: RenderedLabels) {
    samples.append(value, labels: labels, suffix: sampleSuffix, to: &bytes)
  }

  mutating func histogram(_ histogram: Registry.Histogram, labels: RenderedLabels, created: Timestamp) {
    samples.append(histogram, labels: labels, format: .openMetrics, to: &bytes)
    samples.append(created, labels: labels, suffix: "_created", to: &bytes)
  }

  mutating func finish(into buffer: inout [UInt8]) {
    dropHeaderWithoutSamples()
    bytes.append("# EOF\n")
    bytes.finish(into: &buffer)
  }

  /// What the type adds to the family's name.
  private var sampleSuffix = ""

  private mutating func dropHeaderWithoutSamples() {
    if bytes.count == header.upperBound { bytes.removeLast(header.count) }
    header = 0..<0
  }
}
