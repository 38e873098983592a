/// Where a streamed body is written to.
public struct EndpointBodyWriter: Sendable {
  private let send: @Sendable ([UInt8]) async throws -> Void

  package init(_ send: @escaping @Sendable ([UInt8]) async throws -> Void) {
    self.send = send
  }

  /// Sends a part of the body, and returns once the connection has room for more: a producer never runs ahead
  /// of its reader.
  /// - Throws: `CancellationError` if the connection is gone; the body should then end.
  public func write(_ bytes: [UInt8]) async throws {
    try await send(bytes)
  }
}
