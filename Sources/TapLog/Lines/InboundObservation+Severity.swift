import TapCore

extension InboundObservation {
  /// How much a request that ended so matters. A 4xx status code is its caller's concern.
  var severity: LogSeverity {
    switch outcome {
    case .ok, .cancelled: .info
    case .httpError, .error: .error
    }
  }
}
