import Synchronization
import TapCore

/// Which requests get a line. Metrics count all requests.
///
///     var configuration = RequestLog.Configuration()
///     configuration.sampling = LogSampling(rate: 0.01, slow: .seconds(1))
///
/// Every request with a 5xx, and every one that fails without a complete response, gets one.
public struct LogSampling: Sendable {
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
  public init(rate: Double = 1, slow: Duration? = nil) { (self.rate, self.slow) = (rate, slow) }

  /// Whether a request gets a line. `random` decides for one without a trace: any 56 bits, evenly spread.
  func keeps(
    _ severity: LogSeverity, duration: Duration, trace: TraceContext?, random: () -> UInt64
  ) -> Bool {
    if severity >= .error { return true }
    if let slow, duration >= slow { return true }
    return TraceContext.isKept(trace?.randomness ?? random(), at: rate)
  }
}

/// Decides which lines are written, and counts those that are not.
final class LogFilter: Sendable {
  private let sampling: LogSampling
  private let clients: [String: LogSampling]
  private let keepsAll: Bool
  private let sequence = Atomic<UInt64>(0)
  private let filtered = Mutex<Tally<LogFilterReason>>([:])
  /// The lines of waiting requests.
  private let waits = Mutex(MinuteLimit(100))

  init(sampling: LogSampling, clients: [String: LogSampling]) {
    (self.sampling, self.clients) = (sampling, clients)
    keepsAll = clients.isEmpty && sampling.rate >= 1
  }

  var statistics: Tally<LogFilterReason> { filtered.withLock { $0 } }

  /// Whether the line of an ended request is written.
  func keeps(_ request: RequestObservation, severity: LogSeverity) -> Bool {
    if keepsAll { return true }
    let sampling = clients[request.request.client] ?? sampling
    return count(
      .sampling,
      unless: sampling.keeps(
        severity, duration: request.duration, trace: request.request.traceContext, random: nextRandom))
  }

  /// Whether the line of a request that waits is written.
  func keepsWait(at now: Instant) -> Bool {
    count(.waits, unless: waits.withLock { $0.admit(at: now) } != nil)
  }

  private func count(_ reason: LogFilterReason, unless isKept: Bool) -> Bool {
    if !isKept { filtered.withLock { $0[reason, default: 0] += 1 } }
    return isKept
  }

  /// A number for each request without a trace: a counter, mixed.
  private func nextRandom() -> UInt64 {
    SplitMix64.mix(sequence.wrappingAdd(SplitMix64.step, ordering: .relaxed).newValue) >> 8
  }
}

/// Why a line was filtered out: the `reason` label of `session_tap_log_filtered_lines_total`. A line that is
/// lost is dropped, not filtered (``LogDropReason``).
package enum LogFilterReason: String, Sendable, CaseIterable {
  /// Not kept by the sampling rate.
  case sampling
  /// Of a request that waits, after 100 such lines in a minute.
  case waits
}
