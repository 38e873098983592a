import CoreMetrics
import Instrumentation
public import Logging
public import SessionTap
import Synchronization
import TapLogging
import TapMetrics
import TapTracing

extension Tap {
  /// Makes this tap the back end of swift-metrics, swift-distributed-tracing and swift-log, for the app and
  /// all of its libraries.
  ///
  ///     let tap = try Tap.start()
  ///     tap.bootstrap()
  ///
  /// Metrics of swift-metrics appear at `/metrics`. Libraries pass on the trace of the served request.
  /// Messages of swift-log go to the request log, with the ids of the trace; without a log, swift-log stays
  /// as it is and writes to stderr.
  ///
  /// Each system takes one back end for the life of a process, so call this before anything makes a logger or
  /// a metric. A further call, of any tap, does nothing. If the app has bootstrapped one of the systems
  /// itself, that library ends the process: use `TapMetricsFactory`, `TapInstrument` and `TapLogHandler` one
  /// by one instead.
  ///
  /// - Parameter logLevel: The least severe level that loggers write by default.
  /// - Returns: Whether this was the first call.
  @discardableResult
  public func bootstrap(logLevel: Logger.Level = .info) -> Bool {
    guard !isBootstrapped.exchange(true, ordering: .relaxed) else { return false }
    MetricsSystem.bootstrap(TapMetricsFactory(registry: registry))
    InstrumentationSystem.bootstrap(TapInstrument())
    guard let requestLog else { return true }
    LoggingSystem.bootstrap(
      { TapLogHandler(label: $0, log: requestLog, logLevel: logLevel, metadataProvider: $1) },
      metadataProvider: .trace)
    return true
  }
}

/// Whether a tap is the back end of this process.
private let isBootstrapped = Atomic<Bool>(false)
