/// The sizes that the parser enforces.
package struct ParserLimits: Sendable, Hashable {
  /// Bytes of a head: request line, fields, and the line ends. A trailer section has the same limit.
  package var headBytes: Int
  /// Field lines of a head, and of a trailer section.
  package var headerCount: Int
  /// Bytes of a body after its transfer coding is removed.
  package var bodyBytes: Int

  package init(headBytes: Int = 8192, headerCount: Int = 100, bodyBytes: Int = 65536) {
    self.headBytes = headBytes
    self.headerCount = headerCount
    self.bodyBytes = bodyBytes
  }
}
