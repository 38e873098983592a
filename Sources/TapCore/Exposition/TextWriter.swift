/// Writes the Prometheus text format 0.0.4.
struct TextWriter: ExpositionWriter {
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
    samples = SampleText(name: family.name)
    if !family.help.isEmpty {
      bytes.append("# HELP \(family.name) ")
      bytes.append(escapedHelp: family.help, quotes: false)
      bytes.append(UInt8(ascii: "\n"))
    }
    bytes.append("# TYPE \(family.name) \(Self.name(of: family.type))\n")
    header = start..<bytes.count
  }

  mutating func counter(_ value: Double, labels: RenderedLabels, created: Timestamp?) {
    samples.append(value, labels: labels, to: &bytes)
  }

  mutating func gauge(_ value: Double, labels: RenderedLabels) {
    samples.append(value, labels: labels, to: &bytes)
  }

  mutating func histogram(_ histogram: Registry.Histogram, labels: RenderedLabels, created: Timestamp) {
    samples.append(histogram, labels: labels, format: .text, to: &bytes)
  }

  mutating func finish(into buffer: inout [UInt8]) {
    dropHeaderWithoutSamples()
    bytes.finish(into: &buffer)
  }

  private mutating func dropHeaderWithoutSamples() {
    if bytes.count == header.upperBound { bytes.removeLast(header.count) }
    header = 0..<0
  }

  /// 0.0.4 knows no info.
  private static func name(of type: MetricType) -> String {
    switch type {
    case .counter, .gauge, .histogram: type.rawValue
    case .info: MetricType.gauge.rawValue
    }
  }
}
