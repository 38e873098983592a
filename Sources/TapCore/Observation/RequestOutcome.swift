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
