/// All metrics of a registry at one moment, ready to be sent.
public struct Exposition: Sendable, Hashable {
  /// The format of the bytes.
  public let format: ExpositionFormat
  /// The body of the answer.
  public let bytes: [UInt8]

  /// The value of the `Content-Type` header.
  public var contentType: String { format.contentType }

  /// Writes families, which must be in order.
  ///
  /// - Parameters:
  ///   - names: names of families or of their samples, to which the exposition is limited; `nil` for all.
  ///   - buffer: an array to write into, whose capacity is used again.
  init(
    of families: [any GatheredFamily], in format: ExpositionFormat, names: Set<String>? = nil,
    into buffer: [UInt8] = []
  ) {
    self.format = format
    var writer: any ExpositionWriter =
      switch format {
      case .text: TextWriter(into: buffer)
      case .openMetrics: OpenMetricsWriter(into: buffer)
      case .protobuf: ProtobufWriter()
      }
    for family in families where names?.isDisjoint(with: family.descriptor.claims) != true {
      writer.begin(family.descriptor)
      family.writeSamples(to: &writer)
    }
    bytes = writer.finish()
  }
}
