/// The metrics of a registry at one moment, ready to be sent.
public struct Exposition: Sendable {
  /// The format of the bytes.
  public let format: ExpositionFormat
  /// The body of the answer to a scrape. Except for protobuf it is text:
  /// `String(decoding: exposition.body, as: UTF8.self)`.
  public private(set) var body: [UInt8]
  /// The value of the `Content-Encoding` header, `nil` where there is to be none.
  package private(set) var contentEncoding: String?

  /// The value of the `Content-Type` header.
  public var contentType: String { format.contentType }

  /// - Parameters:
  ///   - names: Of families or of their samples, to which the exposition is limited; `nil` for all.
  ///   - createdSamples: Whether OpenMetrics has `_created` samples.
  init(
    of families: [GatheredFamily], in format: ExpositionFormat, names: Set<String>? = nil,
    createdSamples: Bool = false
  ) {
    let families = families.filter { names?.isDisjoint(with: $0.descriptor.claims) != true }
    body =
      format == .protobuf
      ? Self.bytes(of: families, by: ProtobufWriter())
      : Self.bytes(of: families, by: TextWriter(format, createdSamples: createdSamples))
    self.format = format
  }

  private static func bytes(of families: [GatheredFamily], by writer: some ExpositionWriter) -> [UInt8] {
    var writer = writer
    for family in families { family.write(to: &writer) }
    return writer.finish()
  }

  /// Compresses the body, unless the system cannot.
  mutating func compress() {
    if let gzip = Gzip.system?.compress(body) { (body, contentEncoding) = (gzip, "gzip") }
  }
}

/// The formats that a scraper can ask for.
public enum ExpositionFormat: String, Sendable, Hashable, CaseIterable {
  /// The Prometheus text format, version 0.0.4.
  case text
  /// OpenMetrics 1.0: text with units, exemplars and, if asked for, the time when each series began.
  case openMetrics = "openmetrics"
  /// Prometheus's protocol buffers, delimited: the only format with native histograms.
  case protobuf

  /// The media type of a response in this format. Prometheus 3 fails a scrape with an unknown media type.
  public var contentType: String {
    switch self {
    case .text: "text/plain; version=0.0.4; charset=utf-8"
    case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
    case .protobuf:
      "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
    }
  }
}

/// Writes metric families in one format. No lock is held while it writes.
protocol ExpositionWriter {
  /// Begins a family; its samples follow, of which there is at least one, of up to so many series.
  mutating func begin(_ family: FamilyDescriptor, seriesCount: Int)
  /// A sample of a counter, which may say since when it counts, a gauge or an info.
  mutating func number(_ value: Double, labels: RenderedLabels, created: Timestamp?)
  mutating func histogram(_ histogram: Registry.Histogram, labels: RenderedLabels, created: Timestamp)
  mutating func finish() -> [UInt8]
}
