/// Why a request failed without a complete response: the values of `error_type` that are not status codes.
///
/// The set is closed, so the label stays bounded. `_OTHER` is the fallback of the OpenTelemetry conventions
/// for `error.type`.
public enum RequestErrorType: String, Sendable, Hashable, CaseIterable {
  /// A deadline passed: the request's, the resource's, or the connection's.
  case timeout
  /// The host name could not be resolved.
  case dns
  /// No connection could be made.
  case connect
  /// The connection broke after it was made.
  case connectionLost = "connection_lost"
  /// The TLS handshake failed, or the server's certificate was not accepted.
  case tls
  /// What the server sent is no HTTP response: its status line or its fields cannot be read (RFC 9112).
  case invalidResponse = "invalid_response"
  /// The chain of redirects was longer than Foundation follows.
  case tooManyRedirects = "too_many_redirects"
  /// The request's body could not be read, or the response's could not be decoded or stored.
  case body
  /// The URL has a scheme that no loader takes, or no host.
  case unsupportedURL = "unsupported_url"
  /// Anything else.
  case other = "_OTHER"
}
