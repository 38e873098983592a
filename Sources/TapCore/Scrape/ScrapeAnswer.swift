/// The answer to one scrape, ready to be sent with status 200.
public struct ScrapeAnswer: Sendable, Hashable {
  /// The format of the body before any compression.
  public let format: ExpositionFormat
  /// How the body is coded.
  public let coding: ContentCoding
  /// The body.
  public let bytes: [UInt8]

  /// The value of the `Content-Type` header.
  public var contentType: String { format.contentType }

  /// The value of the `Content-Encoding` header, `nil` where there is to be none.
  public var contentEncoding: String? { coding == .identity ? nil : coding.rawValue }

  /// Codes an exposition as asked, or not at all where the system cannot.
  init(_ exposition: Exposition, _ coding: ContentCoding) {
    format = exposition.format
    if coding == .gzip, let compressed = Gzip.system?.compress(exposition.bytes) {
      self.coding = .gzip
      bytes = compressed
    } else {
      self.coding = .identity
      bytes = exposition.bytes
    }
  }
}
