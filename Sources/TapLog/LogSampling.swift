import TapCore

/// Which requests get a line. Metrics count all requests.
///
///     var configuration = RequestLog.Configuration()
///     configuration.sampling = LogSampling(rate: 0.01, slow: .seconds(1))
///
/// A request is kept if its severity is at least ``keepsFrom`` or it took at least ``slow``. Of the others,
/// those below ``minimumSeverity`` are omitted, and the rest is kept at ``rate``.
public struct LogSampling: Sendable {
  /// Below this severity, only slow requests get a line. No severity filter by default (`.trace`).
  public var minimumSeverity: LogSeverity
  /// From this severity on, every request gets a line: `.error` by default.
  public var keepsFrom: LogSeverity
  /// A request that takes at least this long always gets a line; with 0 or less, every request does. `nil` by
  /// default: no duration keeps a line.
  public var slow: Duration?
  /// The share of the other requests that get a line, from 0 to 1: all by default. `nan` counts as 0.
  ///
  /// The trace decides, so that a trace has all of its lines or none, in every service with the same rate:
  /// the last 56 bits of the trace id are compared with the rate, as in OpenTelemetry's consistent
  /// probability sampling (W3C Trace Context Level 2, random trace id). Without one it is sampled on its own.
  public var rate: Double

  /// Makes a sampling. By default every request gets a line.
  public init(
    rate: Double = 1, slow: Duration? = nil, minimumSeverity: LogSeverity = .trace,
    keepsFrom: LogSeverity = .error
  ) {
    (self.rate, self.slow, self.minimumSeverity, self.keepsFrom) = (rate, slow, minimumSeverity, keepsFrom)
  }

  /// Whether a request gets a line, and why not. `random` decides for one without a trace: any 56 bits,
  /// evenly spread.
  func decision(
    on severity: LogSeverity, duration: Duration, trace: TraceContext?, random: () -> UInt64
  ) -> LogFilterReason? {
    if severity >= keepsFrom { return nil }
    if let slow, duration >= slow { return nil }
    if severity < minimumSeverity { return .severity }
    return TraceContext.isKept(trace?.randomness ?? random(), at: rate) ? nil : .sampling
  }
}
