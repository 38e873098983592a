import TapCore

/// Which requests get a line. Metrics count all of them regardless.
///
///     var configuration = RequestLog.Configuration()
///     configuration.sampling = LogSampling(rate: 0.01, slow: .seconds(1))
///
/// A request is kept if its severity is at least ``keepsFrom`` or it took at least ``slow``. Of the others, those
/// below ``minimumSeverity`` are left out, and the rest is kept at ``rate``.
public struct LogSampling: Sendable, Hashable {
  /// Below this, only slow requests get a line. `.trace` by default: none is left out for its severity.
  public var minimumSeverity: LogSeverity
  /// From this severity on, every request gets a line: `.error` by default.
  public var keepsFrom: LogSeverity
  /// A request that takes so long always gets a line; with 0 or less, every request. `nil` by default: a duration keeps
  /// nothing.
  public var slow: Duration?
  /// How many of the other requests get a line, from 0 to 1: all, by default. What is no number (`nan`) counts as 0.
  ///
  /// Decided by the trace, so that the lines of a trace are all there or none of them, in every service that uses the
  /// same rate: by the last 56 bits of the trace id, as OpenTelemetry's consistent probability sampling has it (W3C
  /// Trace Context Level 2, random trace id). A request without a trace is decided by itself.
  public var rate: Double

  /// Everything, unless said otherwise.
  public init(
    rate: Double = 1, slow: Duration? = nil, minimumSeverity: LogSeverity = .trace,
    keepsFrom: LogSeverity = .error
  ) {
    self.rate = rate
    self.slow = slow
    self.minimumSeverity = minimumSeverity
    self.keepsFrom = keepsFrom
  }

  /// Whether a request gets a line, and why not. `random` decides for one without a trace: any 56 bits, evenly spread.
  func decision(
    on severity: LogSeverity, duration: Duration, trace: TraceContext?, random: () -> UInt64
  ) -> LogFilterReason? {
    if severity >= keepsFrom { return nil }
    if let slow, duration >= slow { return nil }
    if severity < minimumSeverity { return .severity }
    if rate >= 1 { return nil }
    guard rate > 0 else { return .sampling }
    let randomness = trace?.randomness ?? random()
    // Kept at or above the threshold: a higher rate keeps all that a lower one keeps.
    return randomness >= UInt64((1 - rate) * 0x1p56) ? nil : .sampling
  }
}

extension TraceContext {
  /// The last 56 bits of the trace id.
  fileprivate var randomness: UInt64 { traceBits.low & 0x00ff_ffff_ffff_ffff }
}
