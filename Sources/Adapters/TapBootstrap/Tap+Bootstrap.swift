import CoreMetrics
import Instrumentation
public import Logging
public import SessionTap
import Synchronization
import TapLogging
import TapMetrics
import TapTracing

extension Tap {
  /// Makes this tap the back end of swift-metrics, swift-distributed-tracing and swift-log, for the app and all of its libraries.
  ///
  ///     let tap = try Tap.start()
  ///     tap.bootstrap()
  ///
  /// What is measured through swift-metrics is at `/metrics`; the trace of a request that is served goes on in what libraries send;
  /// and what is logged through swift-log is in the request log, with the ids of the trace. A tap without a log leaves
  /// swift-log as it is, which writes to stderr.
  ///
  /// These systems take one back end for the life of a process, so call it before anything makes a logger or a metric. A further
  /// call, of any tap, does nothing. Where the app has bootstrapped one of them itself, that library ends the process: use
  /// `TapMetricsFactory`, `TapInstrument` and `TapLogHandler` one by one instead.
  ///
  /// - Parameter logLevel: The least severe level that loggers write unless they are given their own.
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
