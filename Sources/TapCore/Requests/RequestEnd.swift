/// How a request ended. A request that started ends in exactly one of these ways.
public enum RequestEnd: Sendable, Hashable {
  /// A response arrived or was sent in full, whatever its status code says. A loader of the app's own may answer without any.
  case response(statusCode: Int?)
  /// The request failed before there was a whole response. The status code is there if the status line had arrived or been
  /// sent.
  case failure(RequestErrorType, statusCode: Int?)
  /// The app cancelled the request, or the caller of an inbound request went away. This is no error.
  case cancelled

  /// The status code of the response, if a head arrived.
  public var statusCode: Int? {
    switch self {
    case .response(let statusCode): statusCode
    case .failure(_, let statusCode): statusCode
    case .cancelled: nil
    }
  }
}

/// Why a request failed without a whole response: the values of `error_type` that are not status codes.
///
/// The set is closed, so that the label stays bounded; `_OTHER` is the fallback value that the OpenTelemetry
/// conventions prescribe for `error.type`.
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
  /// The chain of redirects was longer than Foundation follows.
  case tooManyRedirects = "too_many_redirects"
  /// The request's body could not be read, or the response's could not be decoded or stored.
  case body
  /// The URL has a scheme that no loader takes, or no host.
  case unsupportedURL = "unsupported_url"
  /// Anything else.
  case other = "_OTHER"
}
