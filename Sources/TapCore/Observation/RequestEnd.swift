/// How a request ended. A request that started ends in exactly one of these ways.
public enum RequestEnd: Sendable, Hashable {
  /// A response arrived in full, whatever its status code says. A loader of the app's own may answer without
  /// any.
  case response(statusCode: Int?)
  /// The request failed before it had a whole response. The status code is there if the status
  /// line had arrived.
  case failure(RequestErrorType, statusCode: Int?)
  /// The app cancelled the request. This is no error.
  case cancelled

  /// The status code of the response, if a head arrived.
  public var statusCode: Int? {
    switch self {
    case .response(let statusCode): statusCode
    case .failure(_, let statusCode): statusCode
    case .cancelled: nil
    }
  }

  /// The one-word result, as the log writes it.
  public var outcome: RequestOutcome {
    switch self {
    case .response(let statusCode): (400...599).contains(statusCode ?? 200) ? .httpError : .ok
    case .failure: .error
    case .cancelled: .cancelled
    }
  }
}
