/// Why bytes are no request that this server takes, and the status that says so. The connection is closed
/// after it: where the next request would start is not known.
package struct RequestFailure: Error, Sendable, Hashable {
  /// The status of the answer.
  package let status: EndpointStatus
  /// One clause for the answer's body.
  package let reason: String

  /// A violation of the grammar or the framing: 400 (RFC 9112, section 2.2).
  static func malformed(_ reason: String) -> RequestFailure {
    RequestFailure(status: .badRequest, reason: reason)
  }
}
