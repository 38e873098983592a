/// How a request ended. Every started request ends in exactly one of these ways.
public enum RequestEnd: Sendable, Equatable {
  /// A response was received or sent in full, with any status code. A loader of the app's own may answer
  /// without a status code.
  case response(statusCode: Int?)
  /// The request failed without a complete response. It has a status code if the status line was received or
  /// sent.
  case failure(RequestErrorType, statusCode: Int?)
  /// The app cancelled the request, or the caller of an inbound request left. This is no error.
  case cancelled

  package var statusCode: Int? {
    switch self {
    case .response(let statusCode): statusCode
    case .failure(_, let statusCode): statusCode
    case .cancelled: nil
    }
  }
}

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

/// The one-word result of a request.
package enum RequestOutcome: String, Sendable, Hashable, CaseIterable {
  /// A response that is no error.
  case ok
  /// A response with a status code of 500 to 599, or of 400 to 499 where the app is the client.
  case httpError = "http_error"
  /// No whole response.
  case error
  /// Cancelled by the app, or by the caller of an inbound request.
  case cancelled
}
