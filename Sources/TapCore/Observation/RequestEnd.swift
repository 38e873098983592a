/// How a request ended. Every started request ends in exactly one of these ways.
public enum RequestEnd: Sendable, Hashable {
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
