/// The one-word result of a request.
public enum RequestOutcome: String, Sendable, Hashable, CaseIterable {
  /// A response with a status code below 400.
  case ok
  /// A response with a status code of 400 to 599.
  case httpError = "http_error"
  /// No whole response.
  case error
  /// Cancelled by the app.
  case cancelled
}
