import Synchronization
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

/// Decides which lines are written, and counts those that are not.
final class LogFilter: Sendable {
  private let sampling: LogSampling
  private let clients: [String: LogSampling]
  private let keepsAll: Bool
  private let sequence = Atomic<UInt64>(0)
  private let filtered = Mutex<Tally<LogFilterReason>>([:])
  private let waits = Mutex((minute: Int64.min, count: 0))

  /// The most lines of waiting requests in a minute.
  static let waitLimit = 100

  init(sampling: LogSampling, clients: [String: LogSampling]) {
    (self.sampling, self.clients) = (sampling, clients)
    keepsAll = clients.isEmpty && sampling.rate >= 1 && sampling.minimumSeverity == .trace
  }

  var statistics: Tally<LogFilterReason> { filtered.withLock { $0 } }

  /// Whether the line of an ended request is written.
  func keeps(_ request: RequestObservation, severity: LogSeverity) -> Bool {
    if keepsAll { return true }
    let sampling = clients[request.request.client] ?? sampling
    return count(
      sampling.decision(
        on: severity, duration: request.duration, trace: request.request.traceContext,
        random: nextRandom))
  }

  /// Whether a line that is not of an ended request is written: sampling is for those, the minimum severity
  /// for all.
  func keeps(_ severity: LogSeverity, client: String? = nil) -> Bool {
    let sampling = client.flatMap { clients[$0] } ?? sampling
    return count(severity < sampling.minimumSeverity ? .severity : nil)
  }

  /// Whether the line of a request that waits is written.
  func keepsWait(of client: String, at now: Instant) -> Bool {
    guard keeps(.warn, client: client) else { return false }
    let number = waits.withLock { waits in
      let minute = now.nanoseconds / 60_000_000_000
      if waits.minute != minute { waits = (minute, 0) }
      waits.count += 1
      return waits.count
    }
    return count(number > Self.waitLimit ? .waits : nil)
  }

  private func count(_ reason: LogFilterReason?) -> Bool {
    if let reason { filtered.withLock { $0[reason, default: 0] += 1 } }
    return reason == nil
  }

  /// A number for each request without a trace: a counter, mixed.
  private func nextRandom() -> UInt64 {
    SplitMix64.mix(sequence.wrappingAdd(SplitMix64.step, ordering: .relaxed).newValue) >> 8
  }
}

/// Why a line was filtered out: the `reason` label of `session_tap_log_filtered_lines_total`. A line that is
/// lost is dropped, not filtered (``LogDropReason``).
package enum LogFilterReason: String, Sendable, CaseIterable {
  /// Below the minimum severity.
  case severity
  /// Not kept by the sampling rate.
  case sampling
  /// Of a request that waits, after 100 such lines in a minute.
  case waits
}
