/// Writes OpenMetrics 1.0.
struct OpenMetricsWriter: ExpositionWriter {
  private var bytes: [UInt8]
  private var samples = SampleText()
  /// Where the header of the family stands that has no sample yet.
  private var header = 0..<0

  /// Takes an array to write into, whose capacity is used again.
  init(into bytes: [UInt8] = []) {
    self.bytes = bytes
    self.bytes.removeAll(keepingCapacity: true)
  }

  mutating func begin(_ family: FamilyDescriptor) {
    dropHeaderWithoutSamples()
    let start = bytes.count
    let name = family.baseName
    samples = SampleText(name: name)
    bytes.append(contentsOf: "# TYPE \(name) \(family.type.rawValue)\n".utf8)
    if let unit = family.unit { bytes.append(contentsOf: "# UNIT \(name) \(unit)\n".utf8) }
    if !family.help.isEmpty {
      bytes.append(contentsOf: "# HELP \(name) ".utf8)
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

  mutating func histogram(_ histogram: Histogram, labels: RenderedLabels, created: Timestamp) {
    samples.append(histogram, labels: labels, format: .openMetrics, to: &bytes)
    samples.append(created, labels: labels, suffix: "_created", to: &bytes)
  }

  mutating func finish() -> [UInt8] {
    dropHeaderWithoutSamples()
    bytes.append(contentsOf: "# EOF\n".utf8)
    return bytes
  }

  /// What the type adds to the family's name.
  private var sampleSuffix = ""

  private mutating func dropHeaderWithoutSamples() {
    if bytes.count == header.upperBound { bytes.removeLast(header.count) }
    header = 0..<0
  }
}
