/// How the body of an answer is coded (RFC 9110, section 8.4.1).
public enum ContentCoding: String, Sendable, Hashable, CaseIterable {
  /// As it is.
  case identity
  /// Compressed (RFC 1952).
  case gzip
}
