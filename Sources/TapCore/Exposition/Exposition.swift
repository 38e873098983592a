/// The metrics of a registry at one moment, ready to be sent.
public struct Exposition: Sendable {
  package let format: ExpositionFormat
  /// The body of the answer to a scrape. Except for protobuf it is text:
  /// `String(decoding: exposition.body, as: UTF8.self)`.
  public private(set) var body: [UInt8]
  /// The value of the `Content-Encoding` header; `nil` for no header.
  package let contentEncoding: String?

  /// The value of the `Content-Type` header.
  public let contentType: String

  /// - Parameters:
  ///   - contentType: By default the format's own.
  ///   - names: The families or samples to write; `nil` writes all.
  ///   - isCompressed: Whether to compress with gzip, if the system has it. The uncompressed body is never in
  ///     memory as a whole.
  init(
    of families: [GatheredFamily], in format: ExpositionFormat, as contentType: String? = nil,
    names: Set<String>? = nil, isCompressed: Bool = false
  ) {
    (self.format, self.contentType) = (format, contentType ?? format.contentType)
    if isCompressed, let gzip = Gzip.system, var compressor = Gzip.Compressor(gzip) {
      Self.write(families, in: format, names, pieceLength: Self.pieceLength) { compressor.write($0) }
      if let compressed = compressor.finish() {
        (body, contentEncoding) = (compressed, "gzip")
        return
      }
    }
    (body, contentEncoding) = ([], nil)
    Self.write(families, in: format, names, pieceLength: .max) { body = $0 }
  }

  static let pieceLength = 65_536

  /// Writes families in pieces, each of which is longer than `pieceLength` by less than a series or, in
  /// protobuf, a family.
  static func write(
    _ families: [GatheredFamily], in format: ExpositionFormat, _ names: Set<String>? = nil,
    pieceLength: Int, to output: ([UInt8]) -> Void
  ) {
    func write(by writer: some ExpositionWriter) {
      var writer = writer
      for family in families where names?.isDisjoint(with: family.descriptor.claims) != true {
        family.write(to: &writer) { writer in
          if writer.bytes.count < pieceLength { return }
          output(writer.bytes)
          writer.bytes.removeAll(keepingCapacity: true)
        }
      }
      writer.finish()
      output(writer.bytes)
    }
    if format == .protobuf {
      write(by: ProtobufWriter())
    } else {
      write(by: TextWriter(format, isWhole: pieceLength == .max))
    }
  }
}

/// The formats that a scraper can ask for.
public enum ExpositionFormat: String, Sendable, Hashable, CaseIterable {
  /// The Prometheus text format, version 0.0.4.
  case text
  /// OpenMetrics 1.0: text with units and exemplars.
  case openMetrics = "openmetrics"
  /// Prometheus's protocol buffers, delimited: the only format with native histograms.
  case protobuf

  /// The media type of a response in this format. Prometheus 3 fails a scrape with an unknown media type.
  package var contentType: String {
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
  /// The bytes written since they were last taken.
  var bytes: [UInt8] { get set }
  /// Begins a family of at most `seriesCount` series. At least one sample follows.
  mutating func begin(_ family: FamilyDescriptor, seriesCount: Int)
  /// A sample of a counter, a gauge or an info.
  mutating func number(_ value: Double, labels: RenderedLabels)
  mutating func histogram(_ values: ValueHistogram, labels: RenderedLabels)
  mutating func finish()
}
