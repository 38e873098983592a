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
  ///   - capacity: about how many bytes that will take, so that there is room for them at once.
  init(
    of families: [any GatheredFamily], in format: ExpositionFormat, names: Set<String>? = nil,
    capacity: Int = 0
  ) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(capacity)
    Self.write(families, in: format, names: names, to: &bytes)
    self.format = format
    self.bytes = bytes
  }

  /// Writes families in place of what the buffer holds; its capacity is used again.
  static func write(
    _ families: [any GatheredFamily], in format: ExpositionFormat, names: Set<String>? = nil,
    to buffer: inout [UInt8]
  ) {
    var writer: any ExpositionWriter =
      switch format {
      case .text: TextWriter()
      case .openMetrics: OpenMetricsWriter()
      case .protobuf: ProtobufWriter()
      }
    writer.start(in: &buffer)
    for family in families where names?.isDisjoint(with: family.descriptor.claims) != true {
      writer.begin(family.descriptor)
      family.writeSamples(to: &writer)
    }
    writer.finish(into: &buffer)
  }
}
