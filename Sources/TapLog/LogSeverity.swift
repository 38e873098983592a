package import TapCore

/// The severity of a line, least first.
public enum LogSeverity: Sendable, Hashable, Comparable, CaseIterable {
  /// Finer than debugging.
  case trace
  /// For debugging.
  case debug
  /// A request that ended well, or was cancelled by the app.
  case info
  /// A response with a 4xx status code, a request that waits for long, or dropped lines.
  case warn
  /// A response with a 5xx status code, or no complete response.
  case error

  /// The text in a line: the short names of OpenTelemetry's `SeverityText`.
  package var text: String { staticText.description }

  var staticText: StaticString {
    switch self {
    case .trace: "TRACE"
    case .debug: "DEBUG"
    case .info: "INFO"
    case .warn: "WARN"
    case .error: "ERROR"
    }
  }
}

extension RequestObservation {
  /// How much a request that ended so matters. A 4xx status code is a warning where the app is the client; of
  /// an inbound request it is the caller's concern.
  package var severity: LogSeverity {
    switch outcome {
    case .ok, .cancelled: .info
    case .httpError: (statusCode ?? 0) < 500 ? .warn : .error
    case .error: .error
    }
  }
}
