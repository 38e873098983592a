/// All metrics of a registry at one moment, ready to be sent.
public struct Exposition: Sendable, Hashable {
  /// The format of the bytes.
  public let format: ExpositionFormat
  /// The body of the answer.
  public let bytes: [UInt8]

  /// The value of the `Content-Type` header.
  public var contentType: String { format.contentType }
}
