package import TapCore

extension RequestEnd {
  /// How much a request that ended so matters.
  package var severity: LogSeverity {
    switch outcome {
    case .ok, .cancelled: .info
    case .httpError: (statusCode ?? 0) < 500 ? .warn : .error
    case .error: .error
    }
  }
}
